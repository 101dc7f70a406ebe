package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/workload"
)

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
