package menu

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
	"github.com/llmsim/llmsim/sim"
)

// Autoscale is a way of starting and stopping the replicas of a fleet with its load. The most
// replicas that run are what the plan looks for.
type Autoscale struct {
	Policy    string              `json:"policy" short:"true" required:"true" jsonschema:"The name of a scaling policy, as in a scenario's pool."`
	Min       Counts              `json:"min,omitzero" jsonschema:"The least number of replicas, or of groups, beside the spares: a number, or a range such as 1..4. Default: 1."`
	Every     scenarios.Span      `json:"every,omitempty" above:"0" jsonschema:"The time between decisions. Default: 15s."`
	ColdStart scenarios.ColdStart `json:"cold-start,omitzero" jsonschema:"How long the start of a replica takes. Default: no time."`
	Params    map[string]string   `json:"-" rest:"true"`
}

// Scalings lists the ways of scaling of the menu, of which the first is a fixed number of replicas.
func (m *Menu) Scalings() []scenarios.Scaling {
	list := make([]scenarios.Scaling, 1)
	for i := range m.Scaling {
		a := &m.Scaling[i]
		from, to := max(1, a.Min.From), max(1, a.Min.To)
		for least := from; least <= to; least++ {
			list = append(list, scenarios.Scaling{Policy: a.Policy, Min: least, Every: a.Every,
				ColdStart: a.ColdStart, Params: a.Params})
		}
	}
	return list
}

// ScalingWords names a way of scaling among those of the menu. What all have in common is left out.
func (m *Menu) ScalingWords(i int) string {
	way := m.Scalings()[i]
	first := &m.Scaling[0]
	differ := slices.ContainsFunc(m.Scaling, func(a Autoscale) bool {
		return a.Every != first.Every || !reflect.DeepEqual(a.ColdStart, first.ColdStart)
	})
	if !differ {
		way.Every, way.ColdStart = 0, scenarios.ColdStart{}
	}
	policy := way.Policy
	way.Policy = ""
	return "scaled by " + policy + " " + Settings(way)
}

// Scaled reports whether some fleets of the menu start and stop replicas. Then every fleet is
// judged by the whole of a load that changes and ends: a wave by one period.
func (p *Plan) Scaled() bool { return len(p.Menu.Scaling) > 0 }

// checkScaling refuses what cannot be planned with replicas that start and stop.
func (p *Plan) checkScaling(doc *strict.Document, problem func(field, format string, args ...any)) {
	if !p.Scaled() {
		return
	}
	const field = "menu.scaling"
	switch {
	case p.Job != nil:
		problem(field, "has no meaning together with a job, whose requests all wait at the "+
			"start; leave out one of the two")
	case p.Goal.Find != "" && p.Goal.Find != FindCheapest:
		problem(field, "is planned for the cheapest fleet only; leave it out, or leave out goal %s",
			p.Goal.Find)
	}
	for i := range p.Models {
		w := &p.Models[i].Workload
		checkScaled(doc, fmt.Sprintf("models.%d.workload", i), w, problem)
	}
	if len(p.Models) == 0 && p.Job == nil {
		checkScaled(doc, "workload", &p.Workload, problem)
	}
	m := &p.Menu
	if !slices.ContainsFunc(m.Hardware, func(o Offer) bool { return o.Scalable() }) &&
		p.Prices == "" {
		problem(field, "all accelerators of menu.hardware are reserved, owned or spot: reserved "+
			"and owned ones are paid for even while they are off, and spot ones are planned in "+
			"fixed numbers; add an accelerator on demand, or leave scaling out")
	}
}

// checkScaled refuses a load with which scaling has no meaning, or that has no end.
func checkScaled(doc *strict.Document, field string, w *scenarios.Workload,
	problem func(field, format string, args ...any)) {
	p := &Plan{Workload: *w}
	ends := doc.Has(field+".duration") || doc.Has(field+".requests")
	switch {
	case w.Arrivals.Process == "closed-loop":
		problem(field+".arrivals", "found closed-loop; scaling is planned only for loads that do "+
			"not depend on the fleet: leave menu.scaling out, or give rates")
	case p.RecordedTimes():
	case p.Steady() && longestPeriod(w) == 0:
		problem(field, "arrives at a steady rate, for which there is nothing to start or stop: "+
			"leave menu.scaling out, or give a wave, phases, bursts or a recorded trace")
	case !p.Steady() && !ends && !w.Ends():
		problem(field, "has no end, and all fleets of menu.scaling are judged by the same "+
			"requests: give a duration such as duration: 2h")
	}
}

// longestPeriod returns the longest period of the waves of a workload; 0 where there are none.
func longestPeriod(w *scenarios.Workload) scenarios.Span {
	longest := scenarios.Span(0)
	note := func(r *scenarios.Rate) {
		if r.Pattern == "wave" {
			longest = max(longest, cmp.Or(r.Period, Day))
		}
	}
	note(&w.Rate)
	for i := range w.Classes {
		note(&w.Classes[i].Rate)
	}
	return longest
}

// Scalable reports whether money is saved by giving such accelerators back, and whether their
// number is for the plan to choose.
func (o *Offer) Scalable() bool { return o.RentedOn() == onDemand }

// WholeLoad bounds the requests of a load that fleets with scaling are judged by, unless the plan
// allows for longer simulations.
const WholeLoad = 2_000_000

// onePeriod lets a wave end that does not end by itself.
func (p *Plan) onePeriod(w *scenarios.Workload) {
	if period := longestPeriod(w); p.Scaled() && period > 0 && w.Requests == 0 && w.Duration == 0 {
		w.Duration = period
	}
}

// Day is the period of a wave that names none.
const Day = scenarios.Span(24 * 3600 * sim.Second)
