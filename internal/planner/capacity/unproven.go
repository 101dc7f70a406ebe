package capacity

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report"
)

// Unproven says by which rules fleets were left out that no bound excludes and that were not
// simulated. The rules are not proven.
type Unproven struct {
	// Rules are the rules in words.
	Rules []string `json:"rules"`
	// Options is how many options have such fleets, where the goal is the cheapest.
	Options int `json:"options,omitempty"`
	// Checked is how many of these fleets were simulated in the end, and Better how many of them
	// became the answer then.
	Checked int `json:"checked,omitempty"`
	Better  int `json:"better,omitempty"`
}

// unproven returns what the answer rests on beside bounds and simulations; nil where all fleets of
// the menu were simulated, or are excluded by bounds.
func (s *search) unproven() *Unproven {
	u := &Unproven{Rules: s.rules(), Checked: s.checked, Better: s.better}
	if s.goal().Find == menu.FindCheapest || s.goal().Find == menu.FindFront {
		if u.Options = len(s.doubts()); u.Options == 0 && s.goal().Find == menu.FindCheapest {
			return nil
		}
	}
	return u
}

// rules says what a search leaves fleets out by that is not proven.
func (s *search) rules() []string {
	p := &s.trials.file.Plan
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

// print says by which rules fleets were left out.
func (u *Unproven) print(p *report.Printer) {
	if u == nil {
		return
	}
	words := "Fleets were left out by rules that are not proven: "
	if u.Options > 0 {
		words = fmt.Sprintf("Of %s, fleets were left out by rules that are not proven: ",
			several(u.Options, "option"))
	}
	words += strings.Join(u.Rules, "; ") + "."
	if u.Checked > 0 {
		found := "none was better"
		if u.Better > 0 {
			found = fmt.Sprintf("%d were better than the answer so far", u.Better)
		}
		words += fmt.Sprintf(" %d of them were simulated in the end, and %s.", u.Checked, found)
	}
	p.Text(words)
}
