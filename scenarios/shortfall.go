package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// shortfall returns the reason why fewer requests were sent than the scenario asks for, or "". A
// run that ends at workload.duration has sent all that it should, unless it sent no request.
// Requests that were opened, which is to say served before the run to warm caches, are a part of
// those that the scenario asks for.
func shortfall(w *Workload, opened, sent int64) string {
	asked := w.Requests - opened
	switch {
	case sent == 0 && w.Duration > 0:
		return fmt.Sprintf("no request arrived within workload.duration, %v: nothing was measured",
			w.Duration)
	case sent >= asked || w.Duration > 0:
		return ""
	case w.tracedClasses():
		return fmt.Sprintf("the traces have %d of the %d requests that workload.requests asks for",
			sent, asked)
	case w.Trace != nil && !w.Trace.Repeat:
		return fmt.Sprintf("the trace has %d of the %d requests that workload.requests asks for",
			sent, asked)
	case w.Ends():
		return fmt.Sprintf("the rate ends after %d of the %d requests that workload.requests "+
			"asks for", sent, asked)
	}
	return fmt.Sprintf("only %d of the %d requests arrived: the next would come after %s, the "+
		"longest time that can be simulated; raise workload.rate or lower workload.requests",
		sent, asked, units.FormatDuration(sim.Never.Seconds()))
}
