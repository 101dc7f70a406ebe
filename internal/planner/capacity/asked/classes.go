package asked

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
)

// mostDivided bounds the classes whose sets are each a question of their own.
const mostDivided = 4

// Divides reports whether classes may have servers of their own.
func (f *File) Divides() bool {
	return len(f.Plan.Workload.Classes) > 1 && f.together() == ""
}

// together says why all classes share servers; empty if they need not: each arrives at a steady
// rate of its own, and the cheapest fleet is asked for.
func (f *File) together() string {
	p := &f.Plan
	switch {
	case len(p.Models) > 0 || p.OneOf:
		return "there are several models"
	case p.Job != nil:
		return "they are a job"
	case p.Horizon != nil:
		return "the plan has a horizon"
	case p.Goal.Find != FindCheapest:
		return "the goal is " + p.Goal.Find
	case f.Today != nil:
		return "the fleet is put beside one that serves all"
	case p.Scaled():
		return "menu.scaling has fleets that follow the load"
	case len(p.Workload.Classes) > mostDivided:
		return fmt.Sprintf("there are more than %d", mostDivided)
	case !p.Steady() || classesApart(&p.Workload) == nil:
		return "they do not each arrive at a steady rate, independently"
	}
	return ""
}

// Together says in a line why all classes share servers; empty if they need not, or there is one.
func (f *File) Together() string {
	why := f.together()
	if len(f.Plan.Workload.Classes) < 2 || why == "" {
		return ""
	}
	return "All classes share servers, and none were tried of their own: " + why + "."
}

// classesApart returns the classes of a workload, each with a rate of its own; nil where there is
// no such rate. Requests that arrive by a Poisson process and are of a class at random are a
// Poisson process for each class, whose rate is its share (Kingman, "Poisson Processes", 1993,
// colouring theorem).
func classesApart(w *scenarios.Workload) []scenarios.Class {
	if classesRated(w) {
		return w.Classes
	}
	process, common := cmp.Or(w.Arrivals.Process, "poisson"), highest(&w.Rate)
	if process != "poisson" || common == 0 || w.Trace != nil {
		return nil
	}
	list, sum := slices.Clone(w.Classes), 0.0
	shares := func(c *scenarios.Class) bool { return highest(&c.Rate) == 0 }
	for i := range list {
		if c := &list[i]; shares(c) {
			c.Share = cmp.Or(c.Share, 1)
			sum += c.Share
		}
	}
	for i := range list {
		if c := &list[i]; shares(c) {
			c.Rate = w.Rate
			scaleRate(&c.Rate, c.Share/sum, Round)
			c.Share = 0
		}
	}
	return list
}

// OfClasses returns the plan of some classes, whose bits are set, each with a rate of its own. All
// of them have the plan's name, and others those of their classes.
func (f *File) OfClasses(set int) *File {
	part := &File{Plan: f.Plan, Name: f.Name}
	p := &part.Plan
	all := classesApart(&p.Workload)
	if !classesRated(&p.Workload) { // which is said of each class now
		p.Workload.Rate, p.Workload.Arrivals = scenarios.Rate{}, scenarios.Arrivals{}
	}
	p.Workload.Classes = nil
	var names []string
	for i, c := range all {
		if set>>i&1 == 1 {
			p.Workload.Classes = append(p.Workload.Classes, c)
			names = append(names, c.Name)
		}
	}
	if len(names) < len(all) {
		p.Name = strings.ReplaceAll(strings.Join(names, " and "), "/", "-")
	}
	return part
}
