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
	words := fmt.Sprintf("What would help, tried with %d requests: %s. Then %s%% of the "+
		"requests meet the SLO instead of %s%%, and p99 TTFT is %s instead of %s", m.Requests,
		m.Change, units.Significant(100*m.Kept[1], 3), units.Significant(100*m.Kept[0], 3),
		ms(m.TTFT[1]), ms(m.TTFT[0]))
	if m.TPOT[0] > 0 && m.TPOT[1] > 0 { // static batches give all tokens at once
		words += fmt.Sprintf(", p99 TPOT %s instead of %s", ms(m.TPOT[1]), ms(m.TPOT[0]))
	}
	if m.Met {
		words += ": the SLO is met"
	}
	if m.Price > 0 && (m.Price < 0.995 || m.Price > 1.005) {
		words += ", at " + units.Significant(m.Price, 3) + " times the price an hour"
	}
	return words + " (--set '" + strings.Join(m.Set, "' --set '") + "')."
}
