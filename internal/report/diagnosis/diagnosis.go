// Package diagnosis says in sentences what the figures of a run mean: what bounds its steps,
// whether it keeps up with what arrives, where its time goes, what the predictions rest on, whether
// drafting paid, and what would help.
package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
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
		"accepted; "+
		"drafting takes %.0f%% of the time, and %.0f%% of the arithmetic is wasted.",
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
