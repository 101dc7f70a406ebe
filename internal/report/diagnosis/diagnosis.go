// Package diagnosis says in sentences what the figures of a run mean: what bounds its steps,
// whether it keeps up with what arrives, where its time goes, what the predictions rest on, whether
// drafting paid, and what would help.
package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
)

// Of returns the sentences on a result, the most important first.
func Of(r *scenarios.Result) []string {
	list := slices.Concat(bounds(r), load(r), missed(r))
	for i := range r.Kinds {
		if words := r.Kinds[i].Evidence.Sentence(); !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	list = append(list, drafts(r.SpeculationResult)...)
	return append(list, Remedies(r.Diagnosis)...)
}

// bounds says what bounds the steps: once where all pools have the same server.
func bounds(r *scenarios.Result) []string {
	list := []string{}
	if len(r.Kinds) == 1 {
		return append(list, phases(r.Prefill, r.Decode)...)
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		for _, words := range phases(p.Prefill, p.Decode) {
			list = append(list, "Pool "+p.Name+": "+strings.ToLower(words[:1])+words[1:])
		}
	}
	return list
}

// load says whether the system keeps up, where it does not, and where the time of steps goes.
func load(r *scenarios.Result) []string {
	d := r.Diagnosis
	if d == nil || r.Completed == 0 {
		return nil
	}
	list := overload(r)
	if d.Prompts+d.Decoding > 0 {
		list = append(list, fmt.Sprintf(
			"Of the time of steps, %.0f%% goes into prompts and %.0f%% into decoding.",
			100*d.Prompts, 100*d.Decoding))
	}
	return list
}

// overload says that more arrives than is served, where it does.
func overload(r *scenarios.Result) []string {
	d := r.Diagnosis
	if d == nil || d.Load != scenarios.Overloaded {
		return nil
	}
	return []string{fmt.Sprintf(
		"Overloaded: %s requests/s arrive and %s/s are served meanwhile. The requests in the "+
			"system grow from %.0f to %.0f, so that latencies depend on how long the run is.",
		units.Significant(r.OfferedRate, 3), units.Significant(d.Served, 3), d.Early, d.Late)}
}

// Missed says why requests miss their SLO, where they do.
func Missed(r *scenarios.Result) []string { return append(overload(r), missed(r)...) }

// drafts says whether drafting paid, where something was drafted.
func drafts(d *scenarios.SpeculationResult) []string {
	if d == nil || d.Drafts == 0 {
		return nil
	}
	text := fmt.Sprintf("A step gives a sequence %.2f tokens: %.0f%% of the drafted ones are "+
		"accepted; drafting takes %.0f%% of the time, and %.0f%% of the arithmetic is wasted.",
		d.TokensPerStep, d.AcceptanceRate, 100*d.DraftTime, 100*d.WastedFLOPs)
	if d.Speedup != nil {
		text += fmt.Sprintf(" Tokens reach a user %.2f times as fast as without drafts, "+
			"and output throughput is %.2f times as high.", d.Speedup.TPOT,
			d.Speedup.OutputThroughput)
	}
	return []string{text}
}

// Document is what `llmsim scenario --format json` prints and summary.json holds: the figures of a
// run, and what they mean. scenarios/result.schema.json describes it.
type Document struct {
	*scenarios.Result
	// Insights say in sentences what the figures mean.
	Insights []string `json:"insights"`
}

// NewDocument returns the document of a result.
func NewDocument(r *scenarios.Result) Document { return Document{r, Of(r)} }

// DescribeRevenue says what the tokens of an hour are worth, beside what the fleet costs where that
// is known.
func DescribeRevenue(s *scenarios.TokenRevenue, c units.Currency) string {
	money := func(x float64) string { return c.Format(fmt.Sprintf("%.2f", x)) }
	cached := 0.0
	if prompts := s.Input + s.Cached; prompts > 0 {
		cached = s.Cached / prompts
	}
	words := money(s.Hourly)
	switch m := s.Margin; {
	case m == nil:
	case *m < 0:
		words += ", " + money(-*m) + " less than the fleet costs"
	default:
		words += ", " + money(*m) + " more than the fleet costs"
	}
	words += ": " + money(s.InputDollars) + " for input, "
	if s.Cached > 0 {
		words += fmt.Sprintf("%s for cached input (%.0f%% of prompt tokens), ",
			money(s.CachedDollars), 100*cached)
	}
	return words + money(s.OutputDollars) + " for output"
}

// Cause names what the time to the first token goes into, or else that to the others.
func Cause(r *scenarios.Result, first bool) string {
	apart := slices.ContainsFunc(r.Pools, func(p scenarios.PoolResult) bool {
		return p.Role == "prefill"
	})
	switch {
	case first && r.PeakKVUsage > 0.97 && r.Phases != nil && r.MeanQueue > r.MeanPrefill:
		return fmt.Sprintf("requests wait for KV memory, which is full (%s at most)",
			units.Plural(int(r.PeakBatch), "sequence"))
	case r.Preemptions > r.Completed/20:
		return fmt.Sprintf("KV memory runs out: %s in %s",
			units.Plural(int(r.Preemptions), "preemption"),
			units.Plural(int(r.Completed), "request"))
	case first && r.Prefill != nil && r.Busy < 0.9:
		return fmt.Sprintf("a prompt of %s alone takes %s, bound by %s",
			units.Plural(r.Prefill.Tokens, "token"), units.FormatDuration(r.Prefill.Step/1000),
			BoundWords(r.Prefill.Bound))
	case !first && !apart && r.Decode != nil && r.Decode.Plain > 0 &&
		r.MeanTPOT > 1.5*r.Decode.Plain:
		return fmt.Sprintf("prompts of others are computed between the tokens of an answer, and "+
			"take %.0f%% of the time of steps: a token takes %s on average, a step without "+
			"prompts %s", 100*r.Diagnosis.Prompts, units.FormatDuration(r.MeanTPOT/1000),
			units.FormatDuration(r.Decode.Plain/1000))
	case r.Decode != nil:
		return fmt.Sprintf("steps run %.0f%% of the time, and a step that decodes for %s takes "+
			"%s on average, bound by %s", 100*r.Busy, units.Plural(r.Decode.Batch, "sequence"),
			units.FormatDuration(r.Decode.Step/1000), BoundWords(r.Decode.Bound))
	}
	return fmt.Sprintf("steps run %.0f%% of the time", 100*r.Busy)
}

// missed says which latency keeps most requests from their SLO, and why; nothing where the SLO is
// met, or requests have no limits in common.
func missed(r *scenarios.Result) []string {
	a := &r.Attainment
	if r.SLOMet || r.Begun() == 0 || r.ByClass() || !r.SLO.Joint() ||
		r.Diagnosis.Load == scenarios.Overloaded {
		return nil
	}
	latency, kept := Worst(a)
	return []string{fmt.Sprintf("Most requests that miss the SLO miss its limit of %s, which "+
		"%s%% keep: %s.", latency, units.Significant(100*kept, 3), Cause(r, latency == "TTFT"))}
}

// Worst returns the latency whose limit the fewest requests keep, and their share.
func Worst(a *metrics.Attainment) (latency string, kept float64) {
	latency, kept = "TTFT", a.TTFT
	if a.TPOT < kept {
		latency, kept = "TPOT", a.TPOT
	}
	if a.E2E < kept {
		latency, kept = "E2E", a.E2E
	}
	return latency, kept
}

// mostHelp bounds the remedies that are described.
const mostHelp = 4

// Remedies says what was tried and helps, the most helpful first, and names what does not.
func Remedies(d *scenarios.Diagnosis) []string {
	if d == nil || len(d.Remedies) == 0 {
		return nil
	}
	var list, rest []string
	for i := range d.Remedies {
		m := &d.Remedies[i]
		switch {
		case m.Helps && len(list) < mostHelp:
			list = append(list, remedySentence(m))
		case !m.Helps:
			rest = append(rest, m.Change)
		}
	}
	if len(rest) > 0 {
		list = append(list, "Tried, and no help: "+strings.Join(rest, "; ")+".")
	}
	return list
}

// remedySentence says what a change that helps does.
func remedySentence(m *scenarios.Remedy) string {
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	words := fmt.Sprintf("What would help, tried with %d requests: %s. Then %s%% of the "+
		"requests meet the SLO instead of %s%%, and p99 TTFT is %s instead of %s", m.Requests,
		m.Change, units.Significant(100*m.Kept[1], 3), units.Significant(100*m.Kept[0], 3),
		ms(m.TTFT[1]), ms(m.TTFT[0]))
	if m.TPOT[0] > 0 && m.TPOT[1] > 0 { // static batches give all tokens at once
		words += fmt.Sprintf(", p99 TPOT %s instead of %s", ms(m.TPOT[1]), ms(m.TPOT[0]))
	}
	if m.Met {
		words += ": the SLO is met"
	}
	if m.Price > 0 && (m.Price < 0.995 || m.Price > 1.005) {
		words += ", at " + units.Significant(m.Price, 3) + " times the price an hour"
	}
	return words + " (--set '" + strings.Join(m.Set, "' --set '") + "')."
}

// phases says what bounds a typical step of each phase.
func phases(prefill, decode *scenarios.Phenomenon) []string {
	var list []string
	if p := prefill; p != nil {
		list = append(list, fmt.Sprintf(
			"Prefill is bound by %s: a prompt of %s alone takes %s, %.0f%% of it %s.",
			BoundWords(p.Bound), units.Plural(p.Tokens, "token"), units.FormatDuration(p.Step/1000),
			100*p.Share, shareWords(p.Bound)))
	}
	if d := decode; d != nil {
		words := units.Plural(d.Batch, "sequence")
		if d.Tokens > d.Batch {
			words += fmt.Sprintf(", drafts included %s,", units.Plural(d.Tokens, "token"))
		}
		beside := ""
		if d.Prompts >= 0.5 {
			words += " and " + units.Plural(int(math.Round(d.Prompts)), "prompt token")
			if d.Plain > 0 {
				beside = "; without prompts " + units.FormatDuration(d.Plain/1000)
			}
		}
		list = append(list, fmt.Sprintf(
			"Decode is bound by %s: a step for %s takes %s on average, %.0f%% of it %s%s.",
			BoundWords(d.Bound), words, units.FormatDuration(d.Step/1000),
			100*d.Share, shareWords(d.Bound), beside))
	}
	return list
}

// boundWords names what bounds a step, and says what that part of it is spent on.
func boundWords(b steptime.Bound) [2]string {
	switch b {
	case steptime.Compute:
		return [2]string{"compute", "in arithmetic"}
	case steptime.Memory:
		return [2]string{"memory bandwidth", "reading weights and KV cache"}
	case steptime.Network:
		return [2]string{"communication", "between accelerators"}
	case steptime.Latency:
		return [2]string{"the fixed time of kernels", "starting kernels"}
	case steptime.Tiles:
		return [2]string{"tiles that its rows do not fill", "computing tiles that are not full"}
	case steptime.Drafts:
		return [2]string{"drafting", "drafting"}
	}
	return [2]string{"the host", "waiting for the host"}
}

// BoundWords names what bounds a step.
func BoundWords(b steptime.Bound) string { return boundWords(b)[0] }

func shareWords(b steptime.Bound) string { return boundWords(b)[1] }

// charts draws how the two latencies of tokens are distributed, and the state of the fleet over
// time.
func charts(p *doc.Blocks, r *scenarios.Result) {
	histogram(p, "TTFT", &r.TTFTs)
	histogram(p, "TPOT", &r.TPOTs)
	if len(r.Series) < 2 {
		return
	}
	from := r.Series[0].At.Seconds()
	to := r.Series[len(r.Series)-1].At.Seconds()
	overTime(p, "batch", r.Series, func(s *metrics.Point) float64 { return float64(s.Running) },
		float64(r.PeakRunning), func(most float64) string {
			return fmt.Sprintf("%s in %s", units.Figure(most), units.FormatDuration(to-from))
		})
	overTime(p, "queue", r.Series, func(s *metrics.Point) float64 { return float64(s.Waiting) },
		float64(r.PeakWaiting), func(most float64) string {
			return units.Figure(most) + " waiting"
		})
	several := func(s metrics.Point) bool { return s.Up > 1 }
	overTime(p, "KV cache", r.Series, func(s *metrics.Point) float64 { return s.KVUsage },
		r.PeakKVUsage, func(most float64) string {
			if slices.ContainsFunc(r.Series, several) { // the line is of all replicas together
				return units.Percent(most) + " of a replica's"
			}
			return units.Percent(most)
		})
}

// histogram draws how many requests have which latency.
func histogram(p *doc.Blocks, name string, h *metrics.Histogram) {
	if len(h.Counts) < 2 {
		return
	}
	p.Chart(name, h.Counts, slices.Max(h.Counts),
		fmt.Sprintf("%s to p99 %s", units.FormatDuration(h.Low), units.FormatDuration(h.High)))
}

// overTime draws the samples of a state over time. Full height, which the words tell, is the peak,
// also if it falls between samples.
func overTime(p *doc.Blocks, name string, series []metrics.Point,
	value func(*metrics.Point) float64, peak float64, words func(most float64) string) {
	values := make([]float64, len(series))
	for i := range series {
		values[i] = value(&series[i])
	}
	if most := max(peak, slices.Max(values)); most > 0 {
		p.Chart(name, values, most, "up to "+words(most))
	}
}
