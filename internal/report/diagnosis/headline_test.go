package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// drawRun draws a run that has some of what a summary can tell, at amounts that differ.
func drawRun(t *rapid.T) *scenarios.Result {
	r := &scenarios.Result{Diagnosis: &scenarios.Diagnosis{}, Setup: "a model on a machine",
		Load: "4 requests/s", Seed: 17, PricedOver: "at the offered rate"}
	has := func(name string, x float64) float64 {
		if rapid.Bool().Draw(t, name) {
			return x
		}
		return 0
	}
	r.Name = rapid.SampledFrom([]string{"", "a name"}).Draw(t, "name")
	r.Warnings = []string{"a warning"}[:rapid.IntRange(0, 1).Draw(t, "warnings")]
	r.Completed, r.Duration = int64(has("completed", 1234)), 90
	r.Rejected, r.TimedOut = int64(has("rejected", 1)), int64(has("timed out", 2))
	r.Cancelled, r.Cut = int64(has("cancelled", 3)), int64(has("cut", 4))
	r.Lost = int64(has("lost", 5))
	r.RequestThroughput, r.OutputThroughput, r.TotalTokenThroughput = 2.5, 77, 333
	r.MeanDecodeBatch, r.PeakBatch, r.Busy = 6.5, 1111, 0.31
	r.KVUsage, r.PeakKVUsage, r.Preemptions = 0.41, 0.43, int64(has("preempted", 2222))
	r.CachedTokens, r.TotalInputTokens = int64(has("cached", 300)), 1000
	if rapid.Bool().Draw(t, "sessions") {
		r.Sessions = &metrics.Sessions{Completed: int64(has("whole sessions", 3333)),
			Incomplete: 12, Mean: 75, ModelShare: 0.51, QueueShare: 0.28, WaitShare: 0.21,
			Calls: 6}
		r.CostPerSession = has("session's cost", 0.125)
	}
	r.MFU, r.MBU = 0.13, has("utilisation", 0.61)
	if rapid.Bool().Draw(t, "fleet") {
		r.Fleet = &scenarios.FleetResult{Replicas: 8, MeanReplicas: 8 - has("absent", 1.5),
			Retries: int64(has("retries", 44)), Transfers: int64(has("transfers", 55)),
			VisibleTransfer: 3, LinkBusy: 0.07, Handover: has("handover", 9),
			HandoverSource: "a trace"}
	}
	r.Cost, r.CostPerMillion = has("cost", 5), has("price", 0.55)
	r.Accelerators = rapid.SampledFrom([]int{1, 16}).Draw(t, "accelerators")
	if rapid.Bool().Draw(t, "token costs") {
		r.TokenCosts = &scenarios.TokenCosts{Input: 0.21, Cached: has("cached cost", 0.02),
			Output: 0.83}
	}
	if rapid.Bool().Draw(t, "sold") {
		r.Sold = &scenarios.TokenRevenue{Hourly: 7, InputDollars: 3, OutputDollars: 4}
	}
	if rapid.Bool().Draw(t, "ranges") {
		r.Intervals = &scenarios.Intervals{Level: 0.8, Of: map[string]scenarios.Range{
			"mean_ttft_ms": {Low: 11, High: 12}, "mean_tpot_ms": {High: has("tpot", 14)},
			"mean_e2el_ms":                   {Low: 100, High: 100 * (1 + has("near", 99))},
			"cost_per_million_output_tokens": {Low: 0.5, High: 0.5 + has("unsure", 0.1)}}}
	}
	r.EnergyPerMillion, r.Goodput = has("energy", 66), 2.25
	r.SLOMet = rapid.Bool().Draw(t, "met")
	r.Attainment = metrics.Attainment{All: 0.9 - has("below", 0.01), Target: 0.9, TTFT: 0.91,
		TPOT: 0.92, E2E: 0.93}
	r.SLO.TTFT.Request = scenarios.Span(has("limit", float64(sim.Second)))
	if rapid.Bool().Draw(t, "by class") {
		r.ClassSLOs = map[string]scenarios.SLO{"a": {Percentile: 5}}
	}
	return r
}

// A summary has an entry for each thing that the run has and that alone, in the same order for all
// runs. Each part of an entry is there where its figure is not 0, and has the figure.
func TestSummariesTellWhatARunHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		all := Summary(r)
		entries, order := map[string]string{}, []string{}
		for _, b := range all {
			if b.Kind == doc.Entry {
				entries[b.Name], order = doc.Plain(b.Words), append(order, b.Name)
			}
		}
		near, span := false, scenarios.Range{}
		if r.Intervals != nil {
			span, near = r.Intervals.Load(&r.Evidence.Spread)
		}
		c := r.TokenCosts
		fleet := r.Fleet != nil && (r.Fleet.MeanReplicas < 8 || r.Fleet.Retries > 0 ||
			r.Fleet.Transfers > 0 || r.Fleet.Handover > 0)
		names := []string{}
		for _, e := range []struct {
			name string
			is   bool
		}{{"requests", true}, {"SLO", true}, {"throughput", true}, {"batch", true},
			{"memory", true}, {"sessions", r.Sessions != nil}, {"utilisation", r.MBU > 0},
			{"fleet", fleet}, {"cost", r.Cost > 0}, {"token costs", c != nil && c.Cached > 0},
			{"tokens", r.Sold != nil}, {"80% sure", r.Intervals != nil}, {"near capacity", near},
			{"energy", r.EnergyPerMillion > 0}} {
			if e.is {
				names = append(names, e.name)
			}
		}
		if !slices.Equal(order, names) {
			t.Errorf("entries %q, want %q", order, names)
		}
		says(t, entries["requests"], map[string]bool{
			units.Count(r.Completed) + " completed in 1.5 min": true,
			", 1 turned away":       r.Rejected > 0,
			"turned":                r.Rejected > 0,
			", 2 timed out":         r.TimedOut > 0,
			"timed":                 r.TimedOut > 0,
			", 3 cancelled":         r.Cancelled > 0,
			"cancelled":             r.Cancelled > 0,
			", 4 cut by their user": r.Cut > 0,
			"cut":                   r.Cut > 0,
			", 5 lost":              r.Lost > 0,
			"lost":                  r.Lost > 0})
		says(t, entries["throughput"]+entries["batch"], map[string]bool{"2.5 requests/s, ": true,
			" 77 output tokens/s, ": true, " 333 tokens/s in all": true,
			"6.5 sequences decode": true, " 1,111 at most": true, "run 31% of": true})
		says(t, entries["memory"], map[string]bool{"41% of the KV cache": true,
			" 43% at most": true, "; 30% of the prompt tokens": r.CachedTokens > 0,
			"prompt": r.CachedTokens > 0, "; 2,222 preemptions": r.Preemptions > 0,
			"preempt": r.Preemptions > 0})
		whole := r.Sessions != nil && r.Sessions.Completed > 0
		says(t, entries["sessions"], map[string]bool{
			"none completed, 12 not;": r.Sessions != nil && !whole, "not known": r.Sessions !=
				nil && !whole, "3,333 completed, each 1.25 min on average: 51% computing, " +
				"28% in the queue, 21% waiting": whole, "; 6 calls": whole,
			"6 calls, $0.125": whole && r.CostPerSession > 0,
			"$":               whole && r.CostPerSession > 0})
		says(t, entries["utilisation"], map[string]bool{"13% of peak arithmetic": r.MBU > 0,
			"61% of peak memory": r.MBU > 0})
		f := scenarios.FleetResult{MeanReplicas: 8}
		if r.Fleet != nil {
			f = *r.Fleet
		}
		says(t, entries["fleet"], map[string]bool{
			"6.5 of 8 replicas up on average": f.MeanReplicas < 8, "up on": f.MeanReplicas < 8,
			"44 requests began anew": f.Retries > 0, "anew": f.Retries > 0,
			"55 KV caches moved, each seen for 3 ms; the link is taken 7%": f.Transfers > 0,
			"moved": f.Transfers > 0, "9 ms of each time to first": f.Handover > 0,
			"rests on a trace": f.Handover > 0, "hand-over": f.Handover > 0})
		says(t, entries["cost"], map[string]bool{
			"$0.55 for a million output tokens at the offered rate; ": r.Cost > 0 &&
				r.CostPerMillion > 0, "million": r.Cost > 0 && r.CostPerMillion > 0,
			"$200 an hour for ":      r.Cost > 0,
			"for one accelerator":    r.Cost > 0 && r.Accelerators == 1,
			"for 16 accelerators":    r.Cost > 0 && r.Accelerators == 16,
			"offered rate are worth": false})
		says(t, entries["token costs"], map[string]bool{"$0.21 for prompt": c != nil &&
			c.Cached > 0, "$0.02 for cached": c != nil && c.Cached > 0,
			"$0.83 for output": c != nil && c.Cached > 0})
		says(t, entries["tokens"], map[string]bool{"$7.00: $3.00 for input": r.Sold != nil})
		sure := r.Intervals != nil
		says(t, entries["80% sure"], map[string]bool{"TTFT 11 ms to 12 ms": sure,
			"TPOT 0 s to 14 ms": sure && r.Intervals.Of["mean_tpot_ms"].High > 0,
			"TPOT":              sure && r.Intervals.Of["mean_tpot_ms"].High > 0,
			"request 100 ms to": sure, "$0.5 to $0.6 for a million": sure && r.Cost > 0 &&
				r.Intervals.Of["cost_per_million_output_tokens"].High > 0.5,
			"million": sure && r.Cost > 0 &&
				r.Intervals.Of["cost_per_million_output_tokens"].High > 0.5})
		says(t, entries["near capacity"], map[string]bool{units.Percent(span.Low) + " to " +
			units.Percent(span.High) + " of what they would": near, " 80% sure": near})
		says(t, entries["energy"], map[string]bool{"66 Wh for a million": r.EnergyPerMillion > 0})
		text := doc.Plain(string(all.Terminal(false)))
		says(t, text, map[string]bool{"a name": r.Name != "", "a model on a machine": true,
			"4 requests/s; seed 17": true, "Note: a warning": len(r.Warnings) > 0})
	})
}

// A verdict says met or missed, with the share that is kept of what all requests have in common,
// and what is kept of each limit where it is less than wanted. Without an answer it is missed.
func TestVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		words := doc.Plain(Verdict(r))
		answered := r.Completed+r.Cut > 0
		met, below := answered && r.SLOMet, answered && r.Attainment.All < 0.9
		if first, _, _ := strings.Cut(words, ":"); first != map[bool]string{true: "met",
			false: "missed"}[met] {
			t.Errorf("%q, met %v", words, met)
		}
		kept := units.Percent(r.Attainment.All) + " of the requests "
		classed, joint := answered && r.ByClass(), answered && !r.ByClass() && r.SLO.Joint()
		alone := ": goodput of the whole run" // where requests have no limits in common
		says(t, words, map[string]bool{": no request was answered": !answered,
			kept + "meet the SLO of their class":                            classed,
			kept + "(at least 90% wanted) have ":                            joint,
			"limits are kept of TTFT by 91%, of TPOT by 92%, of E2E by 93%": below,
			"limits are kept":                          below,
			"goodput of the whole run 2.25 requests/s": answered,
			alone: answered && !r.ByClass() && !joint && !below})
	})
}
