package scenarios

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// openSource fills in the workload's defaults and starts it.
func (f *fleetBuilder) openSource() workload.Source {
	w := &f.s.Workload
	c := workload.Config{Seed: f.s.Seed}
	ownTimes := false
	f.promise()
	switch {
	case w.Trace != nil:
		c.Trace = f.trace()
		if ownTimes = f.timed("workload.trace", c.Trace) && f.yieldToTrace(); ownTimes && w.Trace.Repeat {
			f.problem("workload.trace.repeat", "needs a rate or arrivals; the trace's own times do not repeat")
		}
	case w.tracedClasses():
		c.Traces, ownTimes = f.classTraces(), true
	default:
		c.Classes = f.classes()
	}
	if !ownTimes {
		f.arrivals(&c)
	}
	f.limits(&c, ownTimes)
	if len(f.problems) > 0 {
		return nil
	}
	source, err := workload.Open(c)
	if err != nil {
		f.problem("workload", "%v", err)
		return nil
	}
	return source
}

// arrivals says when requests are sent that bring no times of their own.
func (f *fleetBuilder) arrivals(c *workload.Config) {
	w := &f.s.Workload
	a := &w.Arrivals
	if len(c.Classes) > 0 && !slices.ContainsFunc(c.Classes, func(class workload.Class) bool { return class.Arrivals == nil }) {
		for _, key := range []string{"workload.rate", "workload.arrivals"} {
			if f.file.given(key) {
				f.problem(key, "has no meaning where every class has a rate of its own; leave it out")
			}
		}
		return
	}
	a.Process = orDefault(a.Process, "poisson")
	if a.Process == "closed-loop" || a.Process == "at-once" {
		if f.file.given("workload.rate") {
			f.problem("workload.rate", "has no meaning where arrivals are %s; leave it out", a.Process)
		}
		w.Rate = Rate{}
	} else {
		w.Rate.complete()
	}
	if a.Process == "closed-loop" {
		c.Users = &workload.Users{Count: a.Users, Think: a.Think.delay(), RampUp: sim.Time(a.RampUp)}
		return
	}
	process := a.process(&w.Rate)
	c.Arrivals = &process
}

// limits says when the workload ends.
func (f *fleetBuilder) limits(c *workload.Config, ownTimes bool) {
	w := &f.s.Workload
	ends := w.Requests > 0 || w.Duration > 0 || len(c.Traces) > 0 || w.Trace != nil && !w.Trace.Repeat || !ownTimes && w.ends()
	if !ends {
		w.Requests = defaultRequests
	}
	c.Requests, c.Duration = w.Requests, sim.Time(w.Duration)
}

// trace describes the recorded workload.
func (f *fleetBuilder) trace() *workload.Trace {
	w := &f.s.Workload
	t := w.Trace
	for _, key := range []string{"prompt", "output", "prefix", "distinct", "sessions"} {
		if f.file.given("workload."+key) && !f.replaces("workload."+key) {
			f.problem("workload."+key, "has no meaning beside a trace, which tells what requests ask for; leave one of the two out")
		}
	}
	w.Prompt, w.Output, w.Prefix, w.Distinct, w.Sessions = Length{}, Length{}, nil, 0, nil
	var names []string
	for _, c := range w.Classes {
		names = append(names, c.Name)
	}
	recorded := f.recording("workload.trace", t, f.leastContext())
	recorded.Classes, recorded.Repeat, recorded.Traits = names, t.Repeat, f.traceTraits()
	return &recorded
}

// recording describes a trace that stands at a field, with its defaults filled in; longest is the longest context served.
func (f *fleetBuilder) recording(field string, t *Trace, longest int) workload.Trace {
	t.Scale, t.Overlong = orDefault(t.Scale, 1), orDefault(t.Overlong, "reject")
	options := trace.Options{FS: f.file.files(), Format: t.Format, Speed: t.Scale, From: sim.Time(t.From), For: sim.Time(t.For)}
	if t.Overlong == "clamp" {
		options.MaxContext, options.Overlong = longest, trace.Clamp
	}
	return workload.Trace{Path: f.locate(field+".file", t.File), Options: options}
}

// timed tells whether the trace has arrival times; where it cannot be read, the problem is noted.
func (f *fleetBuilder) timed(field string, t *workload.Trace) bool {
	reader, err := trace.Open(t.Path, t.Options)
	if errors.Is(err, fs.ErrNotExist) {
		f.problem(field+".file", "%v. Recorded traces do not come with llmsim; docs/scenarios.md tells where to get them", plainPathError(err))
		return false
	}
	if err != nil {
		f.problem(field+".file", "%v", plainPathError(err))
		return false
	}
	defer reader.Close()
	return reader.Timed()
}

// yieldToTrace tells whether the trace's own times apply: where the scenario gives neither rate nor arrivals, or the trace
// comes from the command line and they do not. Then how much is sent does not follow from them either.
func (f *fleetBuilder) yieldToTrace() bool {
	w := &f.s.Workload
	if f.file.given("workload.rate") || f.file.given("workload.arrivals") {
		if !f.replaces("workload.rate") || !f.replaces("workload.arrivals") {
			return false
		}
		if f.replaces("workload.requests") {
			w.Requests = 0
		}
		if f.replaces("workload.duration") {
			w.Duration = 0
		}
	}
	w.Rate, w.Arrivals = Rate{}, Arrivals{}
	return true
}

// replaces tells whether a trace from the command line stands in for the field, which does not come from there.
func (f *fleetBuilder) replaces(field string) bool {
	return f.file.overridden("workload.trace.file") && !f.file.overridden(field)
}

// delay returns the time that people take as the workload package draws it.
func (d *Delay) delay() arrivals.Delay {
	delay := arrivals.Delay{Mean: sim.Time(d.Mean)}
	switch d.Distribution {
	case "exponential":
		delay.Shape = arrivals.Exponential{}
	case "gamma":
		delay.Shape = arrivals.Gamma{CV: d.CV}
	case "lognormal":
		delay.Shape = arrivals.LogNormal{CV: d.CV}
	}
	return delay
}
