package capacity

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// unproven returns what the answer rests on beside bounds and simulations; nil where all fleets of
// the menu were simulated, or are excluded by bounds.
func (s *search) unproven() *answer.Unproven {
	u := &answer.Unproven{Rules: s.rules(), Checked: s.checked, Better: s.better}
	if s.Goal().Find == menu.FindCheapest || s.Goal().Find == menu.FindFront {
		u.Options = len(s.uncheckedOptions())
		if u.Options == 0 && s.Goal().Find == menu.FindCheapest {
			return nil
		}
	}
	return u
}

// rules says what a search leaves fleets out by that is not proven.
func (s *search) rules() []string {
	p := &s.Trials.File.Plan
	const fewer = "where a fleet misses the SLO, it does so with fewer replicas"
	var list []string
	switch p.Goal.Find {
	case menu.FindThroughput:
		list = []string{"where a fleet misses the SLO, it does so at a higher rate and with " +
			"fewer replicas"}
	case menu.FindLatency:
		return []string{"the largest fleet of an option is its fastest"}
	case menu.FindJob:
		return []string{"a replica takes as long for each further request of the job as for " +
			"those of the two simulations"}
	case menu.FindFront:
		list = []string{fewer, "fleets between those whose sizes are a quarter apart add nothing"}
	default:
		list = []string{fewer}
	}
	if p.Scaled() {
		list = append(list, "up to n replicas that start and stop miss an SLO that n fixed ones "+
			"miss", "they cost no less where n is higher")
	}
	return list
}
