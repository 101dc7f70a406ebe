package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/lengths"
	"github.com/llmsim/llmsim/workload/trace"
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
	d.workload.CloseLoop("workload.", d.file.given, d.problem)
	s.SLO.Check("slo", d.problem)
	d.checkWhole()
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

// checkWhole refuses what has no meaning where answers come as a whole.
func (d *demand) checkWhole() {
	w := &d.workload
	if !w.Whole {
		return
	}
	d.slo.TPOT = Limits{} // which the default one has
	if !d.file.given("slo") {
		d.addWarnings([]string{"the default SLO limits the time to the first token, which comes " +
			"with the last of whole-answers; give slo.e2e"})
	}
	slo, patience := []string{"slo."}, []string{"workload.patience.from"}
	for i := range w.Classes {
		class := fmt.Sprintf("workload.classes.%d.", i)
		slo, patience = append(slo, class+"slo."), append(patience, class+"patience.from")
	}
	for i, prefix := range slo {
		for _, key := range []string{"tpot", "itl"} {
			if d.file.given(prefix + key) {
				d.problem(prefix+key, "has no meaning beside workload.whole-answers, which have "+
					"no times between tokens; limit e2e")
			}
		}
		if d.file.given(patience[i]) {
			d.problem(patience[i], "has no meaning beside workload.whole-answers, of which users "+
				"see nothing before the end; leave it out")
		}
	}
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
		if d.file.given("workload.rate") && !d.file.given("workload.users") {
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
	d.refuseBesideTraces("workload", "rate", "arrivals", "preset", "prompt", "output", "prefix",
		"distinct", "samples", "beam-step", "sessions", "calls")
	list := make([]workload.Trace, len(w.Classes))
	for i := range w.Classes {
		c, field := &w.Classes[i], fmt.Sprintf("workload.classes.%d", i)
		if c.Trace == nil {
			d.problem(field+".trace",
				"must be given: other classes replay traces, at their own times")
			continue
		}
		d.refuseBesideTraces(field, "share", "rate", "arrivals", "preset", "prompt", "output",
			"prefix", "distinct", "samples", "beam-step", "sessions", "calls")
		traits := d.traits(field, c)
		c.Trace, list[i] = d.recording(field+".trace", c.Trace, d.fleet.context(traits.Model))
		list[i].Traits, list[i].FromFirst = []workload.Traits{traits}, false
		if c.Trace.Repeat {
			d.problem(field+".trace.repeat", "the trace's own times do not repeat; leave it out")
		}
		if !d.hasTimes(field+".trace", &list[i]) && len(d.problems) == 0 {
			d.problem(field+".trace.file",
				"has no times; give its requests a rate instead, as the trace of the workload")
		}
	}
	return list
}

// refuseBesideTraces refuses keys of a section that have no meaning beside traces of classes.
func (d *demand) refuseBesideTraces(section string, keys ...string) {
	for _, key := range keys {
		if field := section + "." + key; d.file.given(field) {
			d.problem(field, "has no meaning where classes replay traces, "+
				"which tell what requests ask for and when; leave it out")
		}
	}
}

// recorded describes the recorded workload. It reports whether the trace's own times apply.
func (d *demand) recorded() (t *workload.Trace, ownTimes bool) {
	for _, key := range []string{"preset", "prompt", "output", "prefix", "distinct",
		"samples", "beam-step", "sessions", "calls"} {
		if d.file.given("workload."+key) && !d.replaces("workload."+key) {
			d.problem("workload."+key,
				"has no meaning beside a trace, which says what requests ask for; "+
					"leave one of the two out")
		}
	}
	d.clearRequestKeys()
	w := &d.workload
	meant, made := d.recording("workload.trace", w.Trace, d.leastContext())
	w.Trace, made.Repeat, made.Traits = meant, meant.Repeat, d.traceTraits()
	for _, c := range w.Classes {
		made.Classes = append(made.Classes, c.Name)
	}
	ownTimes = d.hasTimes("workload.trace", &made) && d.useTraceTimes()
	if ownTimes && made.Repeat {
		d.problem("workload.trace.repeat",
			"needs a rate or arrivals; the trace's own times do not repeat")
	}
	if !ownTimes && made.Part != 0 {
		d.problem("workload.trace.resample",
			"draws parts of the trace with its own times; leave rate and arrivals out, or this")
	}
	return &made, ownTimes
}

// recording describes the trace at a field of the scenario, and also returns it with its defaults
// filled in. longest is the longest context that is served.
func (d *demand) recording(field string, written *Trace, longest int) (*Trace, workload.Trace) {
	t := *written
	t.Scale, t.Overlong = cmp.Or(t.Scale, 1), cmp.Or(t.Overlong, "reject")
	o := trace.Options{
		FS: d.file.files(), Format: t.Format, Speed: t.Scale, From: sim.Time(t.From),
		For: sim.Time(t.For), FromFirst: !t.Offset && t.From == 0 && t.Resample == 0,
	}
	if t.Overlong == "clamp" {
		o.MaxContext, o.Overlong = longest, trace.Clamp
	}
	return &t, workload.Trace{Path: d.file.locate(field+".file", t.File), Options: o,
		Part: sim.Time(t.Resample), MaxWait: sim.Time(t.MaxWait)}
}

// traceTraits returns the traits of a trace's requests, by class.
func (d *demand) traceTraits() []workload.Traits {
	w := &d.workload
	if len(w.Classes) == 0 {
		only := d.soleClass()
		return []workload.Traits{d.traits("workload", &only)}
	}
	list := make([]workload.Traits, len(w.Classes))
	for i := range w.Classes {
		field := fmt.Sprintf("workload.classes.%d", i)
		if d.file.given(field + ".rate") {
			d.problem(field+".rate",
				"has no meaning beside a trace, which says what requests ask for; "+
					"leave one of the two out")
		}
		if w.Classes[i].Trace != nil {
			d.problem(field+".trace",
				"has no meaning beside a trace of the workload; leave one of the two out")
		}
		list[i] = d.traits(field, &w.Classes[i])
	}
	return list
}

// hasTimes reports whether the trace has arrival times. If the trace cannot be read, timed notes
// the problem.
func (d *demand) hasTimes(field string, t *workload.Trace) bool {
	reader, err := trace.Open(t.Path, t.Options)
	if errors.Is(err, fs.ErrNotExist) {
		d.problem(field+".file",
			"%v. Recorded traces do not come with llmsim; docs/scenarios.md says "+
				"where to get them", plainPathError(err))
		return false
	}
	if err != nil {
		d.problem(field+".file", "%v", plainPathError(err))
		return false
	}
	defer reader.Close()
	if t.MaxWait > 0 && !reader.Sessions() {
		d.problem(field+".max-wait", "this trace has no sessions whose calls wait; leave it out")
	}
	return reader.Timed()
}

// useTraceTimes reports whether the trace's own times apply. They do if the scenario gives no rate,
// arrivals or users, or if the trace comes from the command line and these do not. In the second
// case, the number of requests and the duration of the file do not apply either.
func (d *demand) useTraceTimes() bool {
	w := &d.workload
	keys := []string{"workload.rate", "workload.arrivals", "workload.users"}
	if slices.ContainsFunc(keys, d.file.given) {
		if !d.replaces(keys[0]) || !d.replaces(keys[1]) || !d.replaces(keys[2]) {
			return false
		}
		if d.replaces("workload.requests") {
			w.Requests = 0
		}
		if d.replaces("workload.duration") {
			w.Duration = 0
		}
	}
	w.Rate, w.Arrivals = Rate{}, Arrivals{}
	return true
}

// replaces reports whether a trace from the command line replaces the field, which must not come
// from the command line itself.
func (d *demand) replaces(field string) bool {
	return d.file.overridden("workload.trace.file") && !d.file.overridden(field)
}
