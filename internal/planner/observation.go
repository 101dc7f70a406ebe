// Package planner answers questions about many simulations at once: which of two scenarios is
// better (compare), how results change over a grid of scenarios (sweep), and which fleet meets an
// SLO at least cost (capacity), what would help a system that misses its SLO (TryRemedies), and
// which accelerators can serve a model (Support). Its results are plain structs.
package planner

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Request holds the times and the outcome of one request of a run.
type Request struct {
	// Arrival is when it was sent, Done when its last token came.
	Arrival, Done sim.Time
	// TTFT, TPOT and E2E are its latencies; 0 if it was refused. E2E is what metrics.Cut
	// says if it was cut.
	TTFT, TPOT, E2E sim.Time
	// Prompt and Output are its lengths in tokens, Class is sim.Request's class. Output is what the
	// user had if it was cut.
	Prompt, Output, Class int
	// Kept reports whether it kept every limit of its SLO, Cut whether its user left in the middle
	// of the answer, and Rejected whether it ended without an answer otherwise.
	Kept, Cut, Rejected bool
}

// Of returns one of the latencies.
func (r *Request) Of(latency metrics.Latency) sim.Time {
	switch latency {
	case metrics.TTFT:
		return r.TTFT
	case metrics.TPOT:
		return r.TPOT
	}
	return r.E2E
}

// Observation is a run with each of its requests, in the order of their arrival.
type Observation struct {
	Simulation *scenarios.Simulation
	Result     *scenarios.Result
	Requests   []Request
}

// Observe runs a scenario and keeps a Request for every request. Other observers may watch the run
// too.
func Observe(ctx context.Context, file *scenarios.File, others ...sim.Observer) (*Observation,
	error) {
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	return Watch(ctx, simulation, others...)
}

// Watch is Observe for a simulation that is already built.
func Watch(ctx context.Context, simulation *scenarios.Simulation,
	others ...sim.Observer) (o *Observation, err error) {
	o = &Observation{Simulation: simulation}
	o.Result, err = simulation.Run(ctx, append(slices.Clip(others), (*requestLog)(o))...)
	return o, err
}

// Steady returns the number of requests that are not affected by the end of the load. Requests that
// arrive within a mean latency of the last one are affected, since they are answered while the
// queue empties.
func (o *Observation) Steady() int {
	if len(o.Requests) == 0 {
		return 0
	}
	end := o.Requests[len(o.Requests)-1].Arrival - sim.Seconds(o.Result.MeanE2EL/1000)
	n := sort.Search(len(o.Requests), func(i int) bool { return o.Requests[i].Arrival > end })
	if n == 0 {
		return len(o.Requests) // all come at once
	}
	return n
}

// Reason says why a scenario cannot run, without file and line, which mean nothing where a menu or
// a grid has set the fields. The key is the field of which the reason speaks; "" is none.
func Reason(err error) (key, reason string) {
	var list strict.Problems
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Path, list[0].Message
	}
	return "", err.Error()
}

// requestLog is an Observation while it is being made, a sim.Observer.
type requestLog Observation

func (l *requestLog) at(id int64) *Request {
	for int64(len(l.Requests)) <= id {
		l.Requests = append(l.Requests, Request{})
	}
	return &l.Requests[id]
}

// Finished implements sim.Observer.
func (l *requestLog) Finished(s *sim.Sequence) {
	*l.at(s.ID) = Request{
		Arrival: s.Arrival, Done: s.Arrival + s.E2E(), TTFT: s.TTFT(), TPOT: s.TPOT(), E2E: s.E2E(),
		Prompt: s.Prompt, Output: s.Output, Class: s.Class,
		Kept: l.Simulation.SLO(s.Class).Kept(s, s.E2E()),
	}
}

// Ended implements sim.EndObserver.
func (l *requestLog) Ended(s *sim.Sequence, why sim.Rejection, _ sim.Time) {
	part, e2e, cut := metrics.Cut(s, why)
	if !cut {
		l.Rejected(&s.Request, why)
		return
	}
	l.Finished(&part)
	r := l.at(s.ID)
	r.Kept, r.Cut, r.E2E = l.Simulation.SLO(s.Class).Kept(&part, e2e), true, e2e
}

// Rejected implements sim.Observer.
func (l *requestLog) Rejected(r *sim.Request, _ sim.Rejection) {
	*l.at(r.ID) = Request{Arrival: r.Arrival, Prompt: r.Prompt, Output: r.Output, Class: r.Class,
		Rejected: true}
}

// Steps implements sim.Observer.
func (l *requestLog) Steps(*sim.Leap) {}

// Sampled implements sim.Observer.
func (l *requestLog) Sampled(sim.Time, int, sim.State) {}

// Metrics lists the figures of a result that sweeps have a column and a plot of.
func Metrics() []scenarios.Metric {
	return slices.DeleteFunc(scenarios.Metrics(), func(m scenarios.Metric) bool { return !m.Swept })
}

// Words is a figure for people: times and shares with their units, other figures without; a dash
// where it is not known.
func Words(unit scenarios.Unit, x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case unit == scenarios.Milliseconds:
		return units.FormatDuration(x / 1000)
	case unit == scenarios.Share:
		return units.Percent(x)
	case unit == scenarios.Percent:
		return units.Percent(x / 100)
	}
	return units.Figure(x)
}
