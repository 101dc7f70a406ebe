package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/trace"
)

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
	d.leaveToClasses()
	w := &d.workload
	meant, made := d.recording("workload.trace", w.Trace, d.leastContext())
	w.Trace, made.Repeat, made.Traits = meant, meant.Repeat, d.traceTraits()
	for _, c := range w.Classes {
		made.Classes = append(made.Classes, c.Name)
	}
	ownTimes = d.timed("workload.trace", &made) && d.yieldToTrace()
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
		only := d.anonymous()
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

// timed reports whether the trace has arrival times. If the trace cannot be read, timed notes the
// problem.
func (d *demand) timed(field string, t *workload.Trace) bool {
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

// yieldToTrace reports whether the trace's own times apply. They do if the scenario gives neither a
// rate nor arrivals, or if the trace comes from the command line and these do not. In the second
// case, the number of requests and the duration of the file do not apply either.
func (d *demand) yieldToTrace() bool {
	w := &d.workload
	if d.file.given("workload.rate") || d.file.given("workload.arrivals") {
		if !d.replaces("workload.rate") || !d.replaces("workload.arrivals") {
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
