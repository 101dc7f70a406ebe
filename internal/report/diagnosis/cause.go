package diagnosis

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

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
			"%s on average, bound by %s", 100*r.Busy,
			units.Plural(r.Decode.Batch, "sequence"),
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
