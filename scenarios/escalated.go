package scenarios

import (
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/workload"
)

// escalates reports whether the requests of class i are those of another that are sent on. Then it
// notes where they come from.
func (d *demand) escalates(field string, i int) bool {
	list := d.workload.Classes
	c := &list[i]
	switch {
	case c.Escalated == nil && len(d.config.Escalations) > 0:
		d.problem(field, "found after a class with escalated; put classes that users send first")
		return false
	case c.Escalated == nil:
		return false
	}
	for _, key := range []string{"share", "rate", "arrivals", "preset", "prompt", "output",
		"prefix", "distinct", "samples", "beam-step", "sessions", "calls", "trace"} {
		if d.file.given(field + "." + key) {
			d.problem(field+"."+key, "has no meaning for a class with escalated, whose requests "+
				"are those of %s; leave it out", c.Escalated.From)
		}
	}
	if process := d.workload.Arrivals.Process; process == "closed-loop" {
		d.problem(field+".escalated", "found users in a closed loop, who wait for one answer; "+
			"allowed: requests that arrive over time")
	}
	from := -1
	var names []string
	for k := range list[:i] {
		names = append(names, list[k].Name)
		if list[k].Name == c.Escalated.From {
			from = k
		}
	}
	if from < 0 {
		d.problem(field+".escalated.from", "no class before this one: %s",
			nearest.Unknown("class", c.Escalated.From, names))
		return true
	}
	if of := &list[from]; of.Sessions != nil || len(of.Calls) > 0 || of.Samples > 1 {
		d.problem(field+".escalated.from", "found %s, whose requests belong to sessions; allowed: "+
			"requests by themselves", of.Name)
	}
	d.config.Escalations = append(d.config.Escalations, workload.Escalation{Name: c.Name,
		From: from, Share: c.Escalated.Share, Traits: d.traits(field, c)})
	return true
}
