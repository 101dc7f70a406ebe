package capacity

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Goal says what a plan looks for.
type Goal struct {
	Find    string          `json:"find,omitempty" short:"true" kind:"true" enum:"cheapest,throughput,latency,front" jsonschema:"What to look for: the cheapest fleet that keeps the SLO, the fleet that serves the most requests of this kind, the fleet with the lowest latency, or all fleets that no other fleet beats in price, latency and energy at once. Default: cheapest."`
	Budget  scenarios.Price `json:"budget,omitempty" above:"0" only:"throughput,latency,front" jsonschema:"The most that the fleet may cost, such as $40/h. Default for a front: twice the price of the cheapest fleet."`
	Power   Watts           `json:"power,omitempty" above:"0" only:"throughput,latency,front" jsonschema:"The most power that the accelerators of the fleet may draw, all at their peak, such as 10kW."`
	Measure string          `json:"measure,omitempty" only:"latency,front" enum:"mean_ttft_ms,p99_ttft_ms,mean_tpot_ms,p99_tpot_ms,mean_e2el_ms,p99_e2el_ms" jsonschema:"The latency to compare, for the goals latency and front. Default: p99_e2el_ms."`
}

// Watts is a power, written as "10kW".
type Watts float64

// UnmarshalText reads a power with its unit.
func (w *Watts) UnmarshalText(text []byte) error {
	watts, err := units.ParsePower(string(text))
	*w = Watts(watts)
	return err
}

// MarshalText writes the power exactly, in watts.
func (w Watts) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(w), 'f', -1, 64) + "W"), nil
}

// The goals of a plan.
const (
	findCheapest   = "cheapest"
	findThroughput = "throughput"
	findLatency    = "latency"
	findFront      = "front"
	findJob        = "job" // of a plan with a job
)

// check reports contradictions between the goal and the rest of a plan.
func (g *Goal) check(p *Plan, doc *strict.Document,
	problem func(field, format string, args ...any)) {
	bounded := g.Budget > 0 || g.Power > 0
	if g.Find == "" || g.Find == findCheapest {
		return
	}
	if len(p.Models) > 0 {
		problem("goal", "found %s together with several models, which are planned for the least "+
			"cost only; make a plan for each model", g.Find)
	}
	for _, key := range []string{"fleet.growth", "fleet.autoscaling"} {
		if doc.Has(key) {
			problem(key, "has a meaning for the cheapest fleet only; leave out this key or the "+
				"goal")
		}
	}
	if g.Find == findThroughput && !p.steady() {
		problem("goal", "this goal raises a steady rate of requests; recorded traces, bursts and "+
			"users in a closed loop have no such rate")
	}
	if g.Find != findFront && !bounded && !p.Menu.counted() {
		problem("goal", "nothing bounds the fleet: give a budget such as budget: $40/h, a power "+
			"such as power: 10kW, or a count to each of menu.hardware")
	}
}

// counted reports whether the menu gives the number of all accelerators.
func (m *Menu) counted() bool {
	lists := [][]Offer{m.Hardware}
	for i := range m.Disaggregated {
		s := &m.Disaggregated[i]
		lists = append(lists, s.Prefill.Hardware, s.Decode.Hardware)
	}
	for _, list := range lists {
		for i := range list {
			if list[i].Count == 0 {
				return false
			}
		}
	}
	return true
}

// complete fills in defaults.
func (g *Goal) complete() {
	if g.Find == "" {
		g.Find = findCheapest
	}
	if g.Measure == "" && (g.Find == findLatency || g.Find == findFront) {
		g.Measure = "p99_e2el_ms"
	}
}

// words says what the goal is.
func (g *Goal) words() string {
	var words string
	switch g.Find {
	case findThroughput:
		words = "the most requests a second"
	case findLatency:
		words = "the lowest " + g.Measure
	case findFront:
		words = "fleets that no other beats in price, " + g.Measure + " and energy"
	}
	if g.Budget > 0 {
		words += fmt.Sprintf(", for at most $%g an hour", float64(g.Budget))
	}
	if g.Power > 0 {
		words += fmt.Sprintf(", with accelerators of at most %s in all",
			units.FormatPower(float64(g.Power)))
	}
	return words
}

// unbounded is the number of replicas if nothing limits it.
const unbounded = math.MaxInt32

// allowed returns the largest number of replicas or groups of an option, spares included, for which
// accelerators, budget and power suffice; unbounded if nothing limits them.
func (s *search) allowed(o *option) int {
	n := unbounded
	for _, server := range o.servers() {
		if offer := server.offer; offer.Count > 0 {
			n = min(n, offer.Count/o.accelerators(offer))
		}
	}
	g := &s.trials.file.Plan.Goal
	if g.Budget > 0 {
		n = min(n, int(min(unbounded, float64(g.Budget)/o.price+1e-9)))
	}
	if g.Power > 0 {
		n = min(n, int(min(unbounded, float64(g.Power)/o.watts()+1e-9)))
	}
	return n
}

// possible returns an error if no option of the menu can be built, or if the smallest fleet takes
// more than the budget or the power. The error names the option that comes nearest.
func (s *search) possible() error {
	p := &s.trials.file.Plan
	name := s.trials.file.name
	g := &p.Goal
	for _, o := range s.options {
		_, taken := o.interrupted()
		if taken && (g.Find == findLatency || g.Find == findFront) {
			return scenarios.BadInput(fmt.Errorf("%s: goal: found %s and spot accelerators, "+
				"which are planned for the cheapest fleet and for throughput; leave %s out, or "+
				"choose another term", name, g.Find, o.label(&p.Menu)))
		}
	}
	if g.Budget == 0 && g.Power == 0 {
		return nil
	}
	cheapest, leanest := -1, -1
	for i, o := range s.options {
		switch {
		case o.unfit() != "" || o.tight:
			continue
		case g.Power > 0 && o.watts() == 0:
			return scenarios.BadInput(fmt.Errorf("%s: goal.power: the catalogue has no peak "+
				"power for %s", name, o.prefill.offer.Accelerator))
		case s.allowed(o) > s.spare:
			return nil
		}
		if cheapest < 0 || o.price < s.options[cheapest].price {
			cheapest = i
		}
		if leanest < 0 || o.watts() < s.options[leanest].watts() {
			leanest = i
		}
	}
	if cheapest < 0 {
		return nil // nothing can keep the SLO, and the answer says why
	}
	fleet := float64(1 + s.spare)
	spares := ""
	if s.spare > 0 {
		spares = " with its spares"
	}
	if least := fleet * s.options[cheapest].price; g.Budget > 0 && least > float64(g.Budget) {
		return scenarios.BadInput(fmt.Errorf("%s: goal.budget: found $%g/h, and the smallest "+
			"fleet that may keep the SLO%s is of %s for $%s/h", name, float64(g.Budget), spares,
			s.label(cheapest), report.Figure(least)))
	}
	if least := fleet * s.options[leanest].watts(); g.Power > 0 && least > float64(g.Power) {
		return scenarios.BadInput(fmt.Errorf("%s: goal.power: found %s, and the smallest fleet "+
			"that may keep the SLO%s is of %s, which draw up to %s", name,
			units.FormatPower(float64(g.Power)), spares, s.label(leanest),
			units.FormatPower(least)))
	}
	return scenarios.BadInput(fmt.Errorf("%s: goal: no fleet that may keep the SLO keeps to the "+
		"budget, the power and the counts of menu.hardware together", name))
}
