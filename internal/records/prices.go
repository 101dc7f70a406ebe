package records

import (
	"strings"

	"github.com/llmsim/llmsim/scenarios"
)

// together returns the figures of records that are shown beside each other. Their prices have one
// denominator, as scenarios.PriceAlike gives results.
func together(records ...*Record) ([]map[string]float64, error) {
	all, over := make([]map[string]float64, len(records)), make([]string, len(records))
	for i, r := range records {
		var err error
		if all[i], err = r.Figures(); err != nil {
			return nil, err
		}
		leaves, err := r.Leaves()
		if err != nil {
			return nil, err
		}
		for _, l := range leaves {
			if l.Path == "priced_over" {
				over[i], _ = l.Value.(string)
			}
		}
	}
	if scenarios.PricedApart(over) {
		for _, figures := range all {
			priceWholeRun(figures)
		}
	}
	return all, nil
}

// priceWholeRun prices the figures of a result over its whole run.
func priceWholeRun(f map[string]float64) {
	const perMillion, margin = "cost_per_million_output_tokens",
		"tokens_sold.margin_dollars_per_hour"
	cost, tokens, before := f["cost"], f["total_output_tokens"], f[perMillion]
	if cost <= 0 || tokens <= 0 || before <= 0 {
		return
	}
	f[perMillion] = cost / tokens * 1e6
	ratio := f[perMillion] / before
	for key := range f {
		switch {
		case key == "cost_per_session":
			f[key] *= ratio
		case strings.HasPrefix(key, "tokens_sold."): // amounts an hour, which go with the flow
			f[key] /= ratio
		}
	}
	if _, sold := f[margin]; sold {
		f[margin] = f["tokens_sold.dollars_per_hour"] - cost/f["duration"]*3600
	}
}
