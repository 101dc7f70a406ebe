package asked

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/workload/lengths"
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
	why := f.shared()
	switch {
	case why != "":
		return why
	case len(p.Workload.Classes) > mostDivided:
		return fmt.Sprintf("there are more than %d", mostDivided)
	case !p.Steady() || classesApart(&p.Workload) == nil:
		return "they do not each arrive at a steady rate, independently"
	}
	return ""
}

// shared says why all requests share servers, whatever classes they have; empty if they need not.
func (f *File) shared() string {
	p := &f.Plan
	switch {
	case p.Menu.Divide == "none":
		return "menu.divide is none"
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
// of them have the plan's name, and others the names of their classes.
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

// promptShares are the shares of prompts that are no longer than the lengths at which requests may
// be divided.
func promptShares() []float64 { return []float64{0.5, 0.8, 0.95} }

// longerPrompts is how many times as long, on average, the prompts above such a length are at least
// as the others, unless menu.divide asks for prompts. Two fleets of prompts that are more alike
// have been no cheaper than one.
const longerPrompts = 4

// Thresholds returns the lengths in tokens, rising, at which requests may be divided among servers
// by their prompts. It returns nothing where requests have classes, share prompts, do not arrive by
// a Poisson process, or have prompts without a distribution between given bounds.
func (f *File) Thresholds() []int {
	p := &f.Plan
	w := &p.Workload
	asked := p.Menu.Divide == "prompts"
	if f.shared() != "" || p.Menu.Divide == "classes" || !p.Divisible() || len(w.Classes) > 0 ||
		cmp.Or(w.Arrivals.Process, "poisson") != "poisson" || p.FirstAnswer() && !asked {
		return nil
	}
	drawn := f.prompts()
	if drawn == nil {
		return nil
	}
	const points = 1000
	var sums [points + 1]float64 // of the shortest prompts
	at := func(k float64) int { return drawn.At(uint64(k / points * (1 << 63) * 2)) }
	for k := range points {
		sums[k+1] = sums[k] + float64(at(float64(k)+0.5))
	}
	var list []int
	for _, share := range promptShares() {
		k := int(share * points)
		below, above := sums[k]/float64(k), (sums[points]-sums[k])/float64(points-k)
		length := at(float64(k))
		if (asked || above >= longerPrompts*below) && drawn.Min() <= length &&
			length < drawn.Max() && !slices.Contains(list, length) {
			list = append(list, length)
		}
	}
	return list
}

// prompts returns the distribution of the lengths of prompts; nil without one between given bounds.
func (f *File) prompts() *lengths.Distribution {
	l := f.Plan.Workload.Prompt
	l.Min, l.Max = max(l.Min, 1), cmp.Or(l.Max, f.Plan.MaxModelLen)
	if l.Max == 0 || slices.Contains([]string{"", "fixed", "empirical"}, l.Distribution) {
		return nil
	}
	drawn, err := l.Lengths(files.Disk{})
	if err != nil {
		return nil // a scenario says so, with its line
	}
	return drawn
}

// OfPrompts returns the plan of the requests whose prompts are longer than some length, and at most
// as long as another, in tokens; 0 for any. Requests of a Poisson process whose prompts are so, at
// random, are a Poisson process too.
func (f *File) OfPrompts(above, most int) *File {
	drawn := f.prompts()
	share := func(length int) float64 { // of prompts that are no longer
		const steps = 1 << 53
		return float64(sort.Search(steps, func(k int) bool {
			return drawn.At(uint64(k)<<11) > length
		})) / steps
	}
	part := &File{Plan: f.Plan, Name: f.Name}
	p := &part.Plan
	w := &p.Workload
	name, from, to := fmt.Sprintf("prompts of %d tokens and more", above+1), 0.0, 1.0
	if above > 0 {
		w.Prompt.Min, from = above+1, share(above)
	}
	if most > 0 {
		w.Prompt.Max, to = most, share(most)
		name = fmt.Sprintf("prompts of %d to %d tokens", above+1, most)
	}
	p.Name = name
	w.Rate.Phases = slices.Clone(w.Rate.Phases)
	scaleRate(&w.Rate, to-from, Round)
	return part
}
