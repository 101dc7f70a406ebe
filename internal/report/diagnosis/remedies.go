package diagnosis

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// mostHelp bounds the remedies that are described.
const mostHelp = 4

// Remedies says what was tried and helps, the most helpful first, and names what does not.
func Remedies(d *scenarios.Diagnosis) []string {
	if d == nil || len(d.Remedies) == 0 {
		return nil
	}
	var list, rest []string
	for i := range d.Remedies {
		m := &d.Remedies[i]
		switch {
		case m.Helps && len(list) < mostHelp:
			list = append(list, remedySentence(m))
		case !m.Helps:
			rest = append(rest, m.Change)
		}
	}
	if len(rest) > 0 {
		list = append(list, "Tried, and no help: "+strings.Join(rest, "; ")+".")
	}
	return list
}

// remedySentence says what a change that helps does.
func remedySentence(m *scenarios.Remedy) string {
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	words := fmt.Sprintf("What would help, tried with %d requests: %s. Then %.3g%% of the "+
		"requests meet the SLO instead of %.3g%%, and p99 TTFT is %s instead of %s", m.Requests,
		m.Change, 100*m.Kept[1], 100*m.Kept[0], ms(m.TTFT[1]), ms(m.TTFT[0]))
	if m.TPOT[0] > 0 && m.TPOT[1] > 0 { // static batches give all tokens at once
		words += fmt.Sprintf(", p99 TPOT %s instead of %s", ms(m.TPOT[1]), ms(m.TPOT[0]))
	}
	if m.Met {
		words += ": the SLO is met"
	}
	if m.Price > 0 && (m.Price < 0.995 || m.Price > 1.005) {
		words += fmt.Sprintf(", at %.3g times the price an hour", m.Price)
	}
	return words + " (--set '" + strings.Join(m.Set, "' --set '") + "')."
}
