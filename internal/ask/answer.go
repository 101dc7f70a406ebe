package ask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/ask/clients"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/planner/tuning"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Answer is what is said to a thread.
type Answer struct {
	Setup      string   `json:"setup"`
	Load       string   `json:"load"`
	Server     string   `json:"server_command"`
	Understood []string `json:"understood,omitempty"`
	Assumed    []string `json:"assumed,omitempty"`
	// Figures are those of each run, the last run's last.
	Figures []Figure `json:"figures"`
	// Binds says what bounds the steps, Helps which setting would help, Doubts what does not fit.
	Binds  []string `json:"binds"`
	Helps  []string `json:"helps,omitempty"`
	Doubts []string `json:"doubts,omitempty"`
	// Questions are headings of pages of docs.
	Questions []string `json:"questions,omitempty"`

	scenario []byte
	last     string // name of the last run in Figures
}

// Figure is a figure as it was reported and as it is predicted, in the unit of its metric.
type Figure struct {
	Run       string  `json:"run,omitempty"`
	Name      string  `json:"name"`
	Title     string  `json:"title"`
	Reported  float64 `json:"reported,omitempty"`
	Predicted float64 `json:"predicted"`
	Low       float64 `json:"low,omitempty"`
	High      float64 `json:"high,omitempty"`
	Verdict   string  `json:"verdict,omitempty"`

	unit scenarios.Unit
}

// Head begins a scenario that an answer rests on.
const Head = "# The scenario of llmsim ask."

// Scenario returns the scenario of the last run with every default, which llmsim scenario runs.
func (a *Answer) Scenario() []byte { return append([]byte(Head+"\n"), a.scenario...) }

// simulated is a run as it was simulated.
type simulated struct {
	settings []string
	result   *scenarios.Result
	steps    *scenarios.Steps
}

func (s *simulated) load(overrides ...string) (*scenarios.File, error) {
	return scenarios.Parse("ask", []byte("{}"), slices.Concat(s.settings, overrides)...)
}

// run simulates with overrides.
func (s *simulated) run(ctx context.Context, overrides ...string) (*scenarios.Result, error) {
	file, err := s.load(overrides...)
	if err != nil {
		return nil, err
	}
	return file.Run(ctx, policies.Default())
}

// Ask answers a thread. An error about what it says or lacks is a scenarios.InputError.
func Ask(ctx context.Context, text string, o Options) (*Answer, error) {
	p, err := Read(text, o)
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	a := &Answer{Server: p.Server, Understood: p.Understood, Questions: nearest(text)}
	runs := p.Runs
	if len(runs) == 0 {
		runs = []observed.Run{{}}
	}
	if len(runs) > mostRuns {
		p.Assumed = append(p.Assumed, fmt.Sprintf("the last %d of %d runs are answered", mostRuns,
			len(runs)))
		runs = runs[len(runs)-mostRuns:]
	}
	var s *simulated
	for i := range runs {
		load, err := p.loadOf(i, &runs[i])
		if err != nil {
			return nil, scenarios.BadInput(err)
		}
		s = &simulated{settings: slices.Concat(p.Reading.Settings, load, o.Set)}
		if p.GPU != "" {
			s.settings = slices.Concat(p.Reading.Settings, []string{"hardware=" + p.GPU}, load,
				o.Set)
		}
		if err := a.simulate(ctx, s); err != nil {
			return nil, err
		}
		name := ""
		if len(runs) > 1 {
			name = cmp.Or(runs[i].Name, "run "+strconv.Itoa(i+1))
		}
		a.last = name
		a.compare(name, s, &runs[i])
	}
	a.compareCache(p, s)
	a.Assumed = slices.Compact(slices.Concat(p.Assumed, p.Reading.Notes))
	a.Setup, a.Load = s.result.Setup, s.result.Load
	a.bind(s.result)
	if err := a.doubt(ctx, s, &runs[len(runs)-1]); err != nil {
		return nil, err
	}
	return a, a.help(ctx, s)
}

// simulate runs the scenario, and keeps it with every default.
func (a *Answer) simulate(ctx context.Context, s *simulated) error {
	file, err := s.load()
	if err != nil {
		return err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return err
	}
	if a.scenario, err = simulation.Explain(); err != nil {
		return err
	}
	s.steps = simulation.Steps()
	if s.result, err = simulation.Run(ctx); err != nil {
		return err
	}
	s.result.Intervals, err = stats.Ranges(ctx, func() (*scenarios.File, error) { return s.load() },
		s.result)
	return err
}

// mostRequests bounds a simulation: longer runs say the same, but where a queue grows.
const mostRequests = 2000

// loadOf returns the load of a run as settings: that of its command, with the lengths that were
// measured, or what the result says of it.
func (p *Paste) loadOf(i int, run *observed.Run) ([]string, error) {
	describe(run)
	m := &run.Load
	var l *clients.Load
	switch {
	case len(p.Loads) > 0 && len(p.Loads) == len(p.Runs):
		l = p.Loads[i+max(0, len(p.Runs)-mostRuns)]
	case len(p.Loads) > 0:
		l = p.Loads[0]
		if len(p.Loads) > 1 {
			p.assume("%d loads and %d results: the first load is taken", len(p.Loads), len(p.Runs))
		}
	case m.Prompt > 0:
		l = &clients.Load{Tool: "the result", Terms: map[string]string{}}
		switch {
		case m.Rate > 0:
			l.Terms["rate"] = strconv.FormatFloat(m.Rate, 'f', -1, 64)
		case m.Concurrency > 0:
			l.Terms["concurrency"] = strconv.Itoa(m.Concurrency)
		default:
			p.assume("all requests arrive at once, as load generators send them without a rate " +
				"or a concurrency; --load gives one, such as --load concurrency=64")
		}
		for side, spread := range map[string]float64{"input": m.Prompt * m.PromptSpread,
			"output": m.Output * m.OutputSpread} {
			if spread >= 1 {
				l.Terms[side+"-std"] = fmt.Sprintf("%.0f", spread)
			}
		}
		if m.Requests > 0 {
			l.Terms["requests"] = strconv.Itoa(m.Requests)
		}
	default:
		p.assume("one user, prompts of 1,000 tokens, answers of 200, as no load is given; --load " +
			"gives one, such as --load concurrency=64,input=1000,output=200")
		l = &clients.Load{Tool: "--load", Terms: map[string]string{"concurrency": "1",
			"input": "1000", "output": "200", "requests": "20"}}
	}
	for _, side := range []struct {
		term     string
		measured float64
	}{{"input", m.Prompt}, {"output", m.Output}} {
		asked, _ := strconv.ParseFloat(l.Terms[side.term], 64)
		prefix, _ := strconv.ParseFloat(l.Terms["prefix"], 64)
		if side.term == "output" {
			prefix = 0
		}
		length := math.Round(side.measured - prefix)
		if length >= 1 && (asked == 0 || math.Abs(length/asked-1) > 0.1) {
			l.Terms[side.term] = fmt.Sprintf("%.0f", length)
			if asked > 0 && l.Terms[side.term+"-cv"] == "" {
				delete(l.Terms, "ratio")
				p.assume("the mean %s is %.0f tokens, as was measured, and not %.0f as asked for",
					side.term, length, asked)
			}
		}
	}
	settings, err := l.Settings()
	if err != nil {
		return nil, err
	}
	for _, note := range l.Notes {
		p.assume("%s", note)
	}
	if l.Terms["input"] == "" || l.Terms["output"] == "" {
		p.assume("lengths that the load does not say are those of a default scenario; --load " +
			"gives them, such as --load concurrency=64,input=1000,output=200")
	}
	if n, err := strconv.ParseFloat(l.Terms["requests"], 64); err == nil && n > mostRequests {
		settings = append(settings, fmt.Sprintf("workload.requests=%d", mostRequests))
		p.assume("%d of the %.0f requests are simulated", mostRequests, n)
	}
	return settings, nil
}

func (p *Paste) assume(format string, args ...any) {
	if words := fmt.Sprintf(format, args...); !slices.Contains(p.Assumed, words) {
		p.Assumed = append(p.Assumed, words)
	}
}

// describe gives a run that lists requests or steps their means.
func describe(run *observed.Run) {
	if n := float64(len(run.Steps)); n > 0 {
		var decodes, context, seconds float64
		for i := range run.Steps {
			q := &run.Steps[i]
			decodes, context = decodes+float64(q.Decodes), context+float64(q.DecodeKV)
			seconds += q.Seconds
		}
		each := context / max(1, decodes)
		run.Summary.TPOT = seconds / n
		run.Load = observed.Load{Concurrency: int(decodes/n + 0.5), Output: 200,
			Prompt: max(1, each-100), Requests: max(20, 3*int(decodes/n+0.5))}
	}
	if len(run.Requests) == 0 {
		return
	}
	run.Load = (&observed.Observed{Runs: []observed.Run{*run}}).Traffic()
	run.Load.Requests = len(run.Requests)
	var ttft, e2e, ttfts, e2es float64
	for i := range run.Requests {
		if q := &run.Requests[i]; q.TTFT > 0 {
			ttft, ttfts = ttft+q.TTFT, ttfts+1
		}
		if q := &run.Requests[i]; q.E2E > 0 {
			e2e, e2es = e2e+q.E2E, e2es+1
		}
	}
	run.Summary.TTFT, run.Summary.E2E = ttft/max(1, ttfts), e2e/max(1, e2es)
}

// compare adds the figures of a run. Where nothing is reported, the means are predicted.
func (a *Answer) compare(name string, s *simulated, run *observed.Run) {
	f := &run.Summary
	none := *f == observed.Figures{}
	for _, one := range []struct {
		metric, title string
		reported      float64
		always        bool
	}{
		{"mean_ttft_ms", "mean TTFT", 1000 * f.TTFT, true},
		{"median_ttft_ms", "median TTFT", 1000 * f.TTFT50, false},
		{"p99_ttft_ms", "p99 TTFT", 1000 * f.TTFT99, false},
		{"mean_tpot_ms", "mean TPOT", 1000 * f.TPOT, true},
		{"median_tpot_ms", "median TPOT", 1000 * f.TPOT50, false},
		{"p99_tpot_ms", "p99 TPOT", 1000 * f.TPOT99, false},
		{"mean_e2el_ms", "mean E2E", 1000 * f.E2E, true},
		{"output_throughput", "output tokens/s", f.OutputRate, true},
	} {
		if one.reported == 0 && !(none && one.always) {
			continue
		}
		m := scenarios.MetricNamed(one.metric)
		g := Figure{Run: name, Name: one.metric, Title: one.title, Reported: one.reported,
			Predicted: m.Of(s.result), unit: m.Unit}
		if span, known := s.result.Intervals.Of[one.metric]; known {
			g.Low, g.High = span.Low, span.High
		}
		g.judge()
		a.Figures = append(a.Figures, g)
	}
}

// judge says where a reported figure lies.
func (f *Figure) judge() {
	switch {
	case f.Reported == 0 || f.Predicted <= 0:
	case f.High > 0 && f.Reported >= f.Low && f.Reported <= f.High:
		f.Verdict = "in the range"
	default:
		f.Verdict = fmt.Sprintf("%.2g × predicted", f.Reported/f.Predicted)
	}
}

// compareCache adds the size of the KV cache that the engine logged.
func (a *Answer) compareCache(p *Paste, s *simulated) {
	plan := &s.steps.Memory
	for _, one := range []struct {
		name, title string
		reported    float64
		predicted   float64
	}{{"kv_cache_tokens", "KV cache, tokens", p.CacheTokens, float64(plan.Tokens)},
		{"kv_cache_gib", "KV cache a GPU, GiB", p.CacheBytes / (1 << 30),
			plan.KV / (1 << 30)}} {
		if one.reported == 0 {
			continue
		}
		f := Figure{Name: one.name, Title: one.title, Reported: one.reported,
			Predicted: one.predicted}
		f.Verdict = fmt.Sprintf("%+.0f%%", 100*(f.Reported/f.Predicted-1))
		if math.Abs(f.Reported/f.Predicted-1) > 0.15 && len(a.Doubts) == 0 {
			a.Doubts = append(a.Doubts, fmt.Sprintf("The logged cache has %.2g times the "+
				"predicted size: look at --gpu-memory-utilization (vLLM) or --mem-fraction-static "+
				"(SGLang), at other processes on the GPU, at --max-model-len and "+
				"--max-num-batched-tokens, and at the formats of weights and cache.",
				f.Reported/f.Predicted))
		}
		a.Figures = append(a.Figures, f)
	}
}

// bind says which limit binds.
func (a *Answer) bind(r *scenarios.Result) {
	for _, words := range diagnosis.Of(r) {
		for _, begin := range []string{"Prefill is", "Decode is", "The system", "Of the time"} {
			if strings.HasPrefix(words, begin) && len(a.Binds) < 3 {
				a.Binds = append(a.Binds, words)
			}
		}
	}
	if r.Diagnosis.Load == scenarios.Overloaded {
		a.Binds = append(a.Binds, "More arrives than is served: queues, and with them TTFT, grow "+
			"with the length of the run.")
	}
	if r.Preemptions > 0 {
		a.Binds = append(a.Binds, fmt.Sprintf("%d preemptions: the KV cache is too small for the "+
			"batch.", r.Preemptions))
	}
}

// help tries the engine's settings in short simulations.
func (a *Answer) help(ctx context.Context, s *simulated) error {
	goal := "latency"
	if s.result.OfferedRate == 0 || s.result.Diagnosis.Load == scenarios.Overloaded {
		goal = "throughput"
	}
	t, err := tuning.Tune(ctx, s.load, tuning.Options{Goal: goal, Most: 16, Requests: 300,
		Replications: 2, Confidence: 0.95, Workers: 1})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil // what cannot be tuned, as a trace, has no advice
	}
	before, after := t.Default.Value.Mean, t.Tuned.Value.Mean
	words := func(v float64) string { return planner.Words(scenarios.Unit(t.Unit), v) }
	if len(t.Flags) == 0 || !(math.Abs(after-before) > 0.01*before) {
		a.Helps = append(a.Helps, fmt.Sprintf("No setting of %d tried is better by 1%% than the "+
			"given ones.", t.Tried))
		return nil
	}
	a.Helps = append(a.Helps, fmt.Sprintf("The best of %d settings tried: %s %s in place of %s, "+
		"in %d simulations of at most 300 requests.", t.Tried, t.Title, words(after),
		words(before), t.Simulations))
	flags := slices.Clone(t.Flags)
	slices.SortStableFunc(flags, func(x, y tuning.Flag) int {
		return cmp.Compare(bought(&y), bought(&x))
	})
	for _, f := range flags[:min(3, len(flags))] {
		line := fmt.Sprintf("%s %s in place of %s", f.Name, f.Tuned, f.Default)
		if b := bought(&f); b > 0 {
			line += fmt.Sprintf(" brings %s of it", words(b))
		}
		a.Helps = append(a.Helps, line+".")
	}
	return nil
}

func bought(f *tuning.Flag) float64 {
	if f.Bought == nil {
		return 0
	}
	return f.Bought.Mean
}

// words is a figure for people.
func (f *Figure) words(v float64) string {
	if v == 0 {
		return "–"
	}
	if f.unit == "" && v < 1000 {
		return fmt.Sprintf("%.4g", v)
	}
	return planner.Words(f.unit, v)
}
