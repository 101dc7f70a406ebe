package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/lengths"
)

// demands resolves the requests to the fleet, and when they arrive.
func (f *fleet) demands() *demand {
	s := &f.file.Scenario
	d := &demand{
		notes: f.notes, fleet: f, workload: s.Workload, slo: s.SLO.Complete(),
		config: workload.Config{Seed: s.Seed, KeepCut: s.Workload.KeepCut},
		tenant: map[string]int{}, distributions: map[Length]*lengths.Distribution{},
	}
	d.workload.Classes = slices.Clone(s.Workload.Classes)
	s.SLO.Check("slo", d.problem)
	d.setObjectives()
	if a := s.Adapters; a != nil {
		d.config.Adapters = &workload.Adapters{Count: a.Count, Zipf: a.Zipf}
	}
	ownTimes := false
	switch {
	case d.workload.Trace != nil:
		d.config.Trace, ownTimes = d.recorded()
	case d.workload.tracedClasses():
		d.config.Traces, ownTimes = d.classTraces(), true
	default:
		d.config.Classes = d.classes()
	}
	if !ownTimes {
		d.setArrivals()
	}
	d.setEnd(ownTimes)
	return d
}

// setArrivals sets when requests without times of their own are sent.
func (d *demand) setArrivals() {
	w, c := &d.workload, &d.config
	a := &w.Arrivals
	shares := func(class workload.Class) bool { return class.Arrivals == nil }
	if len(c.Classes) > 0 && !slices.ContainsFunc(c.Classes, shares) {
		for _, key := range []string{"workload.rate", "workload.arrivals"} {
			if d.file.given(key) {
				d.problem(key,
					"has no meaning where every class has a rate of its own; leave it out")
			}
		}
		return
	}
	a.Process = cmp.Or(a.Process, "poisson")
	if a.Process == "closed-loop" || a.Process == "at-once" {
		if d.file.given("workload.rate") {
			d.problem("workload.rate", "has no meaning where arrivals are %s; leave it out",
				a.Process)
		}
		w.Rate = Rate{}
	} else {
		w.Rate.complete()
	}
	if a.Process == "closed-loop" {
		if a.RampUp > 0 && a.Start != "" {
			d.problem("workload.arrivals.start", "found %s beside ramp-up; give one of the two",
				a.Start)
		}
		if a.RampUp == 0 {
			a.Start = cmp.Or(a.Start, "equilibrium")
		}
		c.Users = &workload.Users{Count: a.Users, Think: a.Think.delay(),
			RampUp: sim.Time(a.RampUp), StartMin: a.StartMin, StartMax: a.StartMax}
		return
	}
	process := a.process(&w.Rate)
	c.Arrivals = &process
}

// setEnd sets when the workload ends.
func (d *demand) setEnd(ownTimes bool) {
	w := &d.workload
	ends := w.Requests > 0 || w.Duration > 0 || len(d.config.Traces) > 0 ||
		w.Trace != nil && !w.Trace.Repeat || !ownTimes && w.Ends()
	if !ends {
		w.Requests = defaultRequests
	}
	d.config.Requests, d.config.Duration = w.Requests, sim.Time(w.Duration)
}

// classTraces describes the recorded workloads of classes, which are replayed together.
func (d *demand) classTraces() []workload.Trace {
	w := &d.workload
	d.leaveOut("workload", "rate", "arrivals", "preset", "prompt", "output", "prefix", "distinct",
		"samples", "beam-step", "sessions", "calls")
	list := make([]workload.Trace, len(w.Classes))
	for i := range w.Classes {
		c, field := &w.Classes[i], fmt.Sprintf("workload.classes.%d", i)
		if c.Trace == nil {
			d.problem(field+".trace",
				"must be given: other classes replay traces, at their own times")
			continue
		}
		d.leaveOut(field, "share", "rate", "arrivals", "preset", "prompt", "output", "prefix",
			"distinct", "samples", "beam-step", "sessions", "calls")
		traits := d.traits(field, c)
		c.Trace, list[i] = d.recording(field+".trace", c.Trace, d.fleet.context(traits.Model))
		list[i].Traits, list[i].FromFirst = []workload.Traits{traits}, false
		if c.Trace.Repeat {
			d.problem(field+".trace.repeat", "the trace's own times do not repeat; leave it out")
		}
		if !d.timed(field+".trace", &list[i]) && len(d.problems) == 0 {
			d.problem(field+".trace.file",
				"has no times; give its requests a rate instead, as the trace of the workload")
		}
	}
	return list
}

// leaveOut refuses keys of a section that have no meaning beside traces of classes.
func (d *demand) leaveOut(section string, keys ...string) {
	for _, key := range keys {
		if field := section + "." + key; d.file.given(field) {
			d.problem(field, "has no meaning where classes replay traces, "+
				"which tell what requests ask for and when; leave it out")
		}
	}
}
