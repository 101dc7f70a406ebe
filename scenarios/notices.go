package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// notices says what happened in the run that a reader of the result should know.
func (f *finished) notices() []string {
	var list []string
	for i := range f.pools {
		for _, warning := range f.pools[i].Clock.Outside() {
			if !slices.Contains(list, warning) {
				list = append(list, warning)
			}
		}
	}
	rejections := f.collector.Rejections()
	for why := range sim.Rejection(sim.Rejections) {
		n := rejections[why]
		switch {
		case n == 0:
		case why <= sim.TooLarge:
			list = append(list, fmt.Sprintf("%d requests were turned away: %v (%d tokens)",
				n, why, f.scenario.Engine.MaxModelLen))
		default:
			list = append(list, fmt.Sprintf("%d requests got no answer: %v", n, why))
		}
	}
	if words := shortfall(&f.scenario.Workload, workload.Opened(f.source),
		f.summary.Sent()); words != "" {
		list = append(list, words)
	}
	if words := f.crowd.notice(); words != "" {
		list = append(list, words)
	}
	counts := f.source.Counts()
	for _, c := range []struct {
		n    int64
		what string
	}{
		{counts.Failed, "rows of the trace are failed requests and were left out"},
		{counts.Clamped, "requests of the trace were cut to the longest context served"},
		{counts.Raised, "requests of the trace had no prompt or no output token and got one"},
	} {
		if c.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return list
}
