package records

import (
	"encoding/json"

	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Compared returns the figures of two records of scenarios as a comparison has them, with its
// verdicts; nothing for records of other commands.
func Compared(a, b *Record) ([]compare.Line, error) {
	if a.Command != "scenario" || b.Command != "scenario" {
		return nil, nil
	}
	figures, err := together(a, b)
	if err != nil {
		return nil, err
	}
	var kept [2]compare.Kept
	currency := ""
	for i, r := range []*Record{a, b} {
		var result struct {
			Intervals  *scenarios.Intervals `json:"intervals"`
			PricedOver string               `json:"priced_over"`
			Currency   units.Currency       `json:"currency"`
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			return nil, err
		}
		kept[i] = compare.Kept{Figures: figures[i],
			KeepsUp: result.PricedOver == scenarios.OfferedRate}
		if result.Intervals != nil {
			kept[i].Ranges = result.Intervals.Of
		}
		currency = result.Currency.Unit()
	}
	return compare.Between(kept[0], kept[1], currency), nil
}
