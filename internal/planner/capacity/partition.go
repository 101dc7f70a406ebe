package capacity

import (
	"context"
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
)

// sharing is which classes of requests have servers in common: the parts of a plan, each with the
// fleet of its classes, and what the other way would cost.
type sharing struct {
	parts []*asked.File
	found []*finding
	// together is the price of one fleet for all classes, and apart the least price of several; 0
	// where it is not known, or no fleet keeps the SLO.
	together, apart float64
}

// partition finds which classes share servers so that their fleets cost the least together. Each
// set of classes is a question of its own. Where there are too few accelerators for several fleets,
// one serves all.
func partition(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*sharing, error) {
	whole := 1<<len(f.Plan.Workload.Classes) - 1
	sets := make([]*finding, whole+1)
	files := make([]*asked.File, whole+1)
	prices := make([]float64, whole+1)
	for set := whole; set > 0; set-- {
		var err error
		files[set] = f.OfClasses(set)
		if sets[set], err = find(ctx, files[set], q, o); err != nil {
			return nil, err
		}
		prices[set] = math.Inf(1)
		if s := sets[set].search; s.best >= 0 {
			prices[set] = s.cost()
		}
	}
	chosen, apart := divide(prices)
	s := &sharing{together: known(prices[whole]), apart: known(apart)}
	var searches []*search
	for _, set := range chosen {
		s.parts, s.found = append(s.parts, files[set]), append(s.found, sets[set])
		searches = append(searches, sets[set].search)
	}
	if len(searches) == 0 || newJointSearch(searches).conflict() {
		s.parts, s.found, s.apart = files[whole:], sets[whole:], 0
	}
	return s, nil
}

// divide divides things, which are bits, into sets whose prices are the least together, and returns
// the least price of two sets and more too. Prices are by set; the last is of all things, and the
// first, of no things, is 0. There are no sets if each way has a set without a finite price. Of
// equal prices one set is taken.
//
// The set of the first thing is chosen, then the set of the first that is left, and so on, in 3ⁿ
// steps.
func divide(prices []float64) (sets []int, several float64) {
	whole := len(prices) - 1
	best, first := make([]float64, whole+1), make([]int, whole+1)
	several = math.Inf(1)
	for set := 1; set <= whole; set++ {
		best[set] = math.Inf(1)
		lowest := set & -set
		for part := set; part > 0; part = (part - 1) & set {
			if part&lowest == 0 {
				continue
			}
			price := prices[part] + best[set&^part]
			if price < best[set] {
				best[set], first[set] = price, part
			}
			if set == whole && part != whole {
				several = min(several, price)
			}
		}
	}
	for set := whole; set > 0 && !math.IsInf(best[whole], 1); set &^= first[set] {
		sets = append(sets, first[set])
	}
	return sets, several
}

// known is a price that is known, else 0.
func known(price float64) float64 {
	if math.IsInf(price, 1) {
		return 0
	}
	return price
}
