package playground

import (
	"errors"
	"slices"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Phase is a part of a run whose requests come by other settings. It ends at Until, in milliseconds
// from the start, and the next phase begins. A run without phases has the settings of the scenario
// throughout.
type Phase struct {
	Until    float64  `json:"until"`
	Settings []string `json:"settings"`
}

// errPhases is the error of phases that do not follow each other in time.
var errPhases = errors.New("the phases of a run end one after another, after its start")

// Waiting is a request that waits: its number, the length of its prompt, and when it came, in
// milliseconds.
type Waiting struct {
	ID      int64   `json:"id"`
	Prompt  int     `json:"prompt"`
	Arrived float64 `json:"arrived"`
}

// arrivals is a source that plays the phases of a run one after another, and notes the requests
// that have arrived and were in no step.
type arrivals struct {
	phases []phase
	// began and first are the time at which the first of phases began, and its first request.
	began   sim.Time
	first   int64
	ends    sim.Time // when the last request may come
	known   int64
	waiting []Waiting
}

// phase is a source and the time at which the next one takes over.
type phase struct {
	source sim.Source
	until  sim.Time
}

// newArrivals returns the source of a run whose scenario has the workload last, after the phases.
func newArrivals(last sim.Source, file *scenarios.File, past []Phase) (*arrivals, error) {
	a := &arrivals{ends: sim.Never}
	if d := file.Scenario.Workload.Duration; d > 0 {
		a.ends = sim.Time(d)
	}
	began := 0.0
	for _, p := range past {
		if !(p.Until > began) {
			return nil, errPhases
		}
		began = p.Until
		source, err := sourceOf(p.Settings)
		if err != nil {
			return nil, err
		}
		a.phases = append(a.phases, phase{source, sim.Seconds(p.Until / 1000)})
	}
	a.phases = append(a.phases, phase{last, sim.Never})
	return a, nil
}

// sourceOf returns the workload of the scenario with the settings.
func sourceOf(settings []string) (workload sim.Source, err error) {
	file, err := Load(settings)
	if err != nil {
		return nil, err
	}
	s, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	s.ReplaceSource(func(w sim.Source) sim.Source {
		workload = w
		return w
	})
	return workload, nil
}

// NextArrival implements sim.Source.
func (a *arrivals) NextArrival() sim.Time {
	for {
		at := a.phases[0].source.NextArrival()
		if at != sim.Never {
			at += a.began
		}
		if until := a.phases[0].until; at >= until && until != sim.Never {
			a.began, a.first, a.phases = until, a.known, a.phases[1:]
			continue
		}
		if at > a.ends {
			return sim.Never
		}
		return at
	}
}

// Next implements sim.Source. Requests are numbered as by the simulator: in order of arrival.
func (a *arrivals) Next(r *sim.Request) {
	a.phases[0].source.Next(r)
	r.Arrival += a.began
	if r.Deadline > 0 {
		r.Deadline += a.began
	}
	a.waiting = append(a.waiting,
		Waiting{ID: a.known, Prompt: r.Prompt, Arrived: milliseconds(r.Arrival)})
	a.known++
}

// Done implements sim.Source. Requests of a phase that is over have no successors.
func (a *arrivals) Done(r *sim.Request, at sim.Time) {
	if r.ID >= a.first {
		a.phases[0].source.Done(r, at-a.began)
	}
}

// Err implements sim.Source.
func (a *arrivals) Err() error { return a.phases[0].source.Err() }

// forget removes a request from the waiting ones.
func (a *arrivals) forget(id int64) {
	a.waiting = slices.DeleteFunc(a.waiting, func(w Waiting) bool { return w.ID == id })
}

// arrived returns the requests that wait at the given time.
func (a *arrivals) arrived(at sim.Time) []Waiting {
	list := []Waiting{}
	for _, w := range a.waiting {
		if w.Arrived <= milliseconds(at) {
			list = append(list, w)
		}
	}
	return list
}
