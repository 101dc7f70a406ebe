package accuracy

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Bias is the median error, in percent of what was measured, of a metric of servers that have
// something in common. Each server counts the same, with the median of its rows.
type Bias struct {
	// Of is the engine, the accelerator, the kind of model or the load.
	Of, Metric string
	Servers    int
	// Fit is under the constants that ship, and LeftOut under constants that were fitted without
	// any row of the same engine, accelerator and model.
	Fit, LeftOut float64
}

// Biases returns the biases of that many servers or more, of the rows that a fit left out once.
func (r *Report) Biases(least int) ([]Bias, error) {
	known, err := models.Load()
	if err != nil {
		return nil, err
	}
	type part struct{ of, metric string }
	type server struct{ fit, left []float64 }
	parts := map[part]map[servers.Key]server{}
	for _, s := range r.served() {
		left := s.leftOut()
		if left == nil {
			continue
		}
		for _, of := range []string{engines.Of(s.Key.Engine), s.Key.Accelerator,
			kindOf(known, s.Key.Model), loadOf(s.Load.Users)} {
			p := part{of, s.quantity}
			if parts[p] == nil {
				parts[p] = map[servers.Key]server{}
			}
			one := parts[p][s.Key]
			parts[p][s.Key] = server{append(one.fit, s.deviation), append(one.left, *left.Group)}
		}
	}
	var list []Bias
	for p, of := range parts {
		var all server
		for _, one := range of {
			all.fit = append(all.fit, median(one.fit))
			all.left = append(all.left, median(one.left))
		}
		sign := -1.0 // of logarithms of the measured over the predicted time
		if p.metric == evidence.Rate {
			sign = 1
		}
		if len(of) >= least {
			list = append(list, Bias{p.of, p.metric, len(of),
				100 * math.Expm1(sign*median(all.fit)), 100 * math.Expm1(sign*median(all.left))})
		}
	}
	slices.SortFunc(list, func(a, b Bias) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Metric, b.Metric))
	})
	return list, nil
}

func kindOf(known *models.Catalog, model string) string {
	if m, err := known.Lookup(model); err == nil && m.Experts() != nil {
		return "models with experts"
	}
	return "dense models"
}

func loadOf(users float64) string {
	loads := []string{"up to 8 users", "9 to 64 users", "more than 64 users"}
	at, _ := slices.BinarySearch([]float64{8, 64}, users)
	return loads[at]
}
