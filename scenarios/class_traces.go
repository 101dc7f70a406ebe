package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/workload"
)

// classTraces describes the recorded workloads of classes, which are played together.
func (f *fleetBuilder) classTraces() []workload.Trace {
	w := &f.s.Workload
	f.leaveOut("workload.", "rate", "arrivals", "prompt", "output", "prefix", "distinct", "sessions")
	w.Classes = append([]Class(nil), w.Classes...) // the scenario as it was given stays
	list := make([]workload.Trace, len(w.Classes))
	for i := range w.Classes {
		c, field := &w.Classes[i], fmt.Sprintf("workload.classes.%d.", i)
		if c.Trace == nil {
			f.problem(field+"trace", "must be given: other classes replay traces, at their own times")
			continue
		}
		f.leaveOut(field, "share", "rate", "arrivals", "prompt", "output", "prefix", "distinct", "sessions")
		own := *c.Trace
		c.Trace = &own
		traits := f.traits(field[:len(field)-1], c)
		list[i] = f.recording(field+"trace", c.Trace, f.context(traits.Model))
		list[i].Traits = []workload.Traits{traits}
		if c.Trace.Repeat {
			f.problem(field+"trace.repeat", "the trace's own times do not repeat; leave it out")
		}
		if !f.timed(field+"trace", &list[i]) && len(f.problems) == 0 {
			f.problem(field+"trace.file", "has no times; give its requests a rate instead, as the trace of the workload")
		}
	}
	return list
}

// leaveOut refuses keys that have no meaning beside traces of classes.
func (f *fleetBuilder) leaveOut(prefix string, keys ...string) {
	for _, key := range keys {
		if f.file.given(prefix + key) {
			f.problem(prefix+key, "has no meaning where classes replay traces, which tell what requests ask for and when; leave it out")
		}
	}
}
