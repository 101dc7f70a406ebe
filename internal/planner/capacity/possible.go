package capacity

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// possible returns an error if no option of the menu can be built, or if the smallest fleet takes
// more than the budget or the power. The error names the option that comes nearest.
func (s *search) possible() error {
	p := &s.Trials.File.Plan
	name := s.Trials.File.Name
	g := &p.Goal
	for _, o := range s.options {
		_, taken := o.Interrupted()
		if taken && g.Find == menu.FindFront {
			return scenarios.BadInput(fmt.Errorf("%s: goal: found %s and spot accelerators, "+
				"which are planned for the cheapest fleet and for throughput; leave %s out, or "+
				"choose another term", name, g.Find, o.Label(&p.Menu)))
		}
	}
	if g.Budget.Amount == 0 && g.Power == 0 {
		return nil
	}
	cheapest, leanest := -1, -1
	for i, o := range s.options {
		switch {
		case o.Unfit() != "" || o.Tight:
			continue
		case g.Power > 0 && o.Watts() == 0:
			return scenarios.BadInput(fmt.Errorf("%s: goal.power: the catalogue has no peak "+
				"power for %s", name, o.Prefill.Offer.Accelerator))
		case s.Allowed(o) > s.Spare:
			return nil
		}
		if cheapest < 0 || o.Price < s.options[cheapest].Price {
			cheapest = i
		}
		if leanest < 0 || o.Watts() < s.options[leanest].Watts() {
			leanest = i
		}
	}
	if cheapest < 0 {
		return nil // nothing can keep the SLO, and the answer says why
	}
	fleet := float64(1 + s.Spare)
	spares := ""
	if s.Spare > 0 {
		spares = " with its spares"
	}
	if least := fleet * s.options[cheapest].Price; g.Budget.Amount > 0 && least > g.Budget.Amount {
		return scenarios.BadInput(fmt.Errorf("%s: goal.budget: found %s/h, and the smallest "+
			"fleet that may keep the SLO%s is of %s for %s/h", name,
			scenarios.Money(g.Budget).Text(), spares, s.label(cheapest), s.Money(least)))
	}
	if least := fleet * s.options[leanest].Watts(); g.Power > 0 && least > float64(g.Power) {
		return scenarios.BadInput(fmt.Errorf("%s: goal.power: found %s, and the smallest fleet "+
			"that may keep the SLO%s is of %s, which draw up to %s", name,
			units.FormatPower(float64(g.Power)), spares, s.label(leanest),
			units.FormatPower(least)))
	}
	return scenarios.BadInput(fmt.Errorf("%s: goal: no fleet that may keep the SLO keeps to the "+
		"budget, the power and the counts of menu.hardware together", name))
}
