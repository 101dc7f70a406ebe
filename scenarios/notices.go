package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
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
	closed := f.scenario.Workload.Arrivals.Process == "closed-loop"
	if words := f.crowd.notice(f.summary.P95TTFT, closed); words != "" {
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

// Unsteady returns the reason why the start and the end of a scenario's runs are part of what it
// shows, so that no request may be left out as warm-up. It returns "" if the scenario has a steady
// state.
func (s *Scenario) Unsteady() string {
	w := &s.Workload
	switch {
	case w.Recorded():
		return "replays a recorded trace"
	case len(s.Fleet.Outages) > 0:
		return "has outages"
	case w.Arrivals.Process == "at-once":
		return "has all its requests at once"
	case w.Rate.changes():
		return "has a rate that changes"
	}
	for i := range w.Classes {
		if w.Classes[i].Rate.changes() {
			return "has a rate that changes"
		}
	}
	for i := range s.Fleet.Pools {
		if s.Fleet.Pools[i].Scaling.Policy != "" {
			return "starts and stops replicas"
		}
	}
	return ""
}

// changes reports whether a rate follows a pattern.
func (r *Rate) changes() bool { return r.Pattern != "" && r.Pattern != "steady" }

// offersRate reports whether requests arrive at a constant rate that does not depend on the
// answers.
func (s *Scenario) offersRate() bool {
	return s.Unsteady() == "" && s.Workload.Arrivals.Process != "closed-loop"
}
