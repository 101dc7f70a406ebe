package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/planner/tuning"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
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
	// Unread says which lines look like results and were not read.
	Unread []string `json:"unread,omitempty"`
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
// It is empty for a server that does not start.
func (a *Answer) Scenario() []byte {
	if len(a.scenario) == 0 {
		return nil
	}
	return append([]byte(Head+"\n"), a.scenario...)
}

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
	a := &Answer{Server: p.Server, Understood: p.Understood,
		Unread: p.Unread, Questions: nearest(p.Prose)}
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
			if !a.refused(p, s, err) {
				return nil, p.blamed(err, o.Set)
			}
			return a, nil
		}
		name := ""
		if len(runs) > 1 {
			name = cmp.Or(runs[i].Name, "run "+strconv.Itoa(i+1))
		}
		a.last = name
		a.compare(name, s, &runs[i])
	}
	a.compareCache(p, s)
	a.Setup, a.Load = s.result.Setup+poolsOf(&s.steps.Scenario, p), s.result.Load
	a.Assumed = slices.Compact(slices.Concat(p.Assumed, p.Reading.Notes))
	a.bind(p, s, cmp.Or(runs[len(runs)-1].Load.Prompt, 2))
	if p.OutOfMemory > 0 {
		a.Doubts = append(a.Doubts, "The log says that memory ran out, and by its plan the server "+
			"fits: look at other processes on the GPU, at --gpu-memory-utilization, at the number "+
			"of GPUs, and at the formats of weights and cache.")
	}
	if err := a.doubt(ctx, s, &runs[len(runs)-1]); err != nil {
		return nil, err
	}
	return a, a.help(ctx, s)
}

// blamed names the flags of the server's command that an error is about, in place of the overrides
// that the flags became.
func (p *Paste) blamed(err error, set []string) error {
	if !scenarios.IsInputError(err) {
		return err
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		rest, found := strings.CutPrefix(line, "--set ")
		key, words, _ := strings.Cut(rest, ": ")
		if found && !slices.ContainsFunc(set, func(own string) bool {
			return strings.HasPrefix(own, key)
		}) {
			lines[i] = fmt.Sprintf("the server's command: %s: %s",
				cmp.Or(p.Reading.Flags[key], key), words)
		}
	}
	return scenarios.BadInput(errors.New(strings.Join(lines, "\n")))
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

// compare adds the figures of a run. Where nothing is reported, the means are predicted.
func (a *Answer) compare(name string, s *simulated, run *observed.Run) {
	f := &run.Summary
	requests := 0.0 // where nothing else is said of the speed
	if *f == (observed.Figures{}) && run.Load.Seconds > 0 {
		requests = float64(run.Load.Requests) / run.Load.Seconds
	}
	none := *f == observed.Figures{} && requests == 0
	reported := f.Latencies()
	reported["output_throughput"], reported["request_throughput"] = f.OutputRate, requests
	add := func(metric, title string, always bool) {
		if reported[metric] == 0 && !(none && always) {
			return
		}
		m := scenarios.MetricNamed(metric)
		g := Figure{Run: name, Name: metric, Title: title, Reported: reported[metric],
			Predicted: m.Of(s.result), unit: m.Unit}
		if span, known := s.result.Intervals.Of[metric]; known && !unranged(metric) {
			g.Low, g.High = span.Low, span.High
		}
		g.judge()
		a.Figures = append(a.Figures, g)
	}
	for _, latency := range [][2]string{{"ttft", "TTFT"}, {"tpot", "TPOT"}, {"itl", "ITL"},
		{"e2el", "E2E"}} {
		for _, statistic := range observed.Statistics() {
			add(statistic+"_"+latency[0]+"_ms", statistic+" "+latency[1],
				statistic == "mean" && latency[0] != "itl")
		}
	}
	add("output_throughput", "output tokens/s", true)
	add("request_throughput", "requests/s", false)
}

// unranged reports whether no errors of such a figure were measured: of gaps one by one, and of
// p95. Those of medians and of p90 are as those of means (docs/validation.md).
func unranged(metric string) bool {
	return strings.Contains(metric, "_itl_") || strings.HasPrefix(metric, "p95_")
}

// judge says where a reported figure lies.
func (f *Figure) judge() {
	switch {
	case f.Reported == 0 || f.Predicted <= 0:
	case f.High > 0 && f.Reported >= f.Low && f.Reported <= f.High:
		f.Verdict = "in the range"
	default:
		f.Verdict = units.Significant(f.Reported/f.Predicted, 2) + " × predicted"
	}
}

// compareCache adds the size of the KV cache that the engine logged.
func (a *Answer) compareCache(p *Paste, s *simulated) {
	plan := &s.steps.Memory
	for _, one := range []struct {
		name, title string
		reported    float64
		predicted   float64
	}{{"weights_gib", "weights a GPU, GiB", p.WeightBytes / (1 << 30), plan.Weights / (1 << 30)},
		{"kv_cache_tokens", "KV cache, tokens", p.CacheTokens, float64(plan.Tokens)},
		{"kv_cache_gib", "KV cache a GPU, GiB", p.CacheBytes / (1 << 30), plan.KV / (1 << 30)}} {
		if one.reported == 0 {
			continue
		}
		f := Figure{Name: one.name, Title: one.title, Reported: one.reported,
			Predicted: one.predicted}
		f.Verdict = fmt.Sprintf("%+.0f%%", 100*(f.Reported/f.Predicted-1))
		if math.Abs(f.Reported/f.Predicted-1) > 0.15 && len(a.Doubts) == 0 {
			a.Doubts = append(a.Doubts, fmt.Sprintf("The log says %.2g times the predicted %s: "+
				"look at --gpu-memory-utilization (vLLM) or --mem-fraction-static (SGLang), at "+
				"other processes on the GPU, at --max-model-len and "+
				"--max-num-batched-tokens, and at the formats of weights and cache.",
				f.Reported/f.Predicted, f.Title))
		}
		a.Figures = append(a.Figures, f)
	}
}

// bind says which limit binds.
func (a *Answer) bind(p *Paste, s *simulated, prompt float64) {
	r := s.result
	for _, words := range diagnosis.Of(r) {
		for _, begin := range []string{"Prefill is", "Decode is", "The system", "Of the time"} {
			if begin == "Prefill is" && prompt <= 1 {
				continue // answers were timed alone
			}
			if strings.HasPrefix(words, begin) && len(a.Binds) < 3 {
				a.Binds = append(a.Binds, words)
			}
		}
	}
	if wait, ttft := scenarios.MetricNamed("mean_queue_ms").Of(r),
		scenarios.MetricNamed("mean_ttft_ms").Of(r); wait > 0.5*ttft && wait > 100 {
		words := fmt.Sprintf("Of the mean TTFT of %s, requests wait %s before they are admitted "+
			"to a batch", planner.Words(scenarios.MetricNamed("mean_ttft_ms").Unit, ttft),
			planner.Words(scenarios.MetricNamed("mean_ttft_ms").Unit, wait))
		name, limit := s.steps.Scenario.Batching.Number(policies.Sequences)
		if limit > 0 && r.PeakBatch >= limit {
			words += fmt.Sprintf(": at most %d are in one (%s)", limit,
				cmp.Or(p.Reading.Flags["batching."+name], "batching."+name))
		}
		a.Binds = append(a.Binds, words+".")
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
