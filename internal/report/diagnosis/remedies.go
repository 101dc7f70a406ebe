package diagnosis

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// remedies says what was tried, the most helpful first.
func remedies(d *scenarios.Diagnosis) []string {
	if d == nil {
		return nil
	}
	var list []string
	for i := range d.Remedies {
		list = append(list, remedySentence(&d.Remedies[i]))
	}
	return list
}

// remedySentence says what a change does.
func remedySentence(m *scenarios.Remedy) string {
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	words := fmt.Sprintf("Tried: with %s, %.3g%% of the requests meet the SLO instead of %.3g%%; "+
		"99%% have TTFT within %s instead of %s, and TPOT within %s instead of %s",
		m.Change, 100*m.Kept[1], 100*m.Kept[0], ms(m.TTFT[1]), ms(m.TTFT[0]), ms(m.TPOT[1]),
		ms(m.TPOT[0]))
	if m.Load == scenarios.Overloaded {
		words += ", still overloaded"
	}
	if m.Price != 1 {
		words += fmt.Sprintf(", at %.3g times the price an hour", m.Price)
	}
	return words + " (" + m.Set[0] + ")."
}
