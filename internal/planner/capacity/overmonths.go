package capacity

import (
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/horizon"
)

// growing is a server whose replicas are counted for loads as large as any month's.
type growing struct {
	option   int
	label    string
	price    float64 // of a replica, for an hour
	onDemand bool
	// factors are multiples of the first month's load, ascending, and sizes the replicas that keep
	// the SLO then, spares included.
	factors []float64
	sizes   []int
}

// sizedFactors is how many loads are simulated, from the first month's to the largest.
const sizedFactors = 6

// overMonths plans the months of a horizon. Each server is sized by simulations of whole fleets at
// a few loads, by size; in between it has as many replicas as the fleet of the next smaller load
// would have at the same rate of each, since larger fleets share their requests no less evenly, and
// no more than the fleet of the next larger load.
func overMonths(h *asked.Horizon, kinds []*growing, size func(factor float64) error) (
	*answer.Horizon, error) {
	// Twice the expected growth is looked at too.
	most := h.Factor(h.Months-1, 2)
	for i := range sizedFactors {
		if i > 0 && most == 1 {
			break
		}
		if err := size(asked.Round(math.Pow(most, float64(i)/(sizedFactors-1)))); err != nil {
			return nil, err
		}
	}
	a := &answer.Horizon{Months: h.Months, Growth: h.Growth}
	kinds = slices.DeleteFunc(kinds, func(k *growing) bool {
		few := k.replicas(h.Factor(h.Months-1, 1)) == 0
		if few {
			a.TooFew = append(a.TooFew, k.label)
		}
		return few
	})
	if len(kinds) == 0 {
		return a, nil
	}
	return a, schedule(h, kinds, a)
}

// add notes the replicas for a load above the ones before; 0 where there are too few. A larger load
// needs no fewer.
func (k *growing) add(factor float64, n int) {
	if last := len(k.sizes) - 1; last >= 0 {
		if k.sizes[last] == 0 {
			n = 0
		} else if n > 0 {
			n = max(n, k.sizes[last])
		}
	}
	k.factors, k.sizes = append(k.factors, factor), append(k.sizes, n)
}

// replicas returns how many replicas a server has for a multiple of the load; 0 where there are too
// few.
func (k *growing) replicas(factor float64) int {
	i, exact := slices.BinarySearch(k.factors, factor)
	if i == len(k.factors) {
		i, exact = i-1, true // but for rounding
	}
	if exact || i == 0 {
		return k.sizes[i]
	}
	if k.sizes[i-1] == 0 {
		return 0
	}
	alike := int(math.Ceil(float64(k.sizes[i-1]) * factor / k.factors[i-1]))
	if k.sizes[i] == 0 {
		return 0
	}
	return min(alike, k.sizes[i])
}

// schedule finds what to rent, and what it costs to have begun so if the load grows otherwise.
func schedule(h *asked.Horizon, kinds []*growing, a *answer.Horizon) error {
	q := needsOf(h, kinds, 1)
	best, err := horizon.Cheapest(q)
	if err != nil {
		return err
	}
	a.Cost, a.Changes = best.Cost, best.Changes
	for i, k := range kinds {
		alone, err := horizon.Cheapest(&horizon.Question{Kinds: q.Kinds[i : i+1]})
		if err != nil {
			return err
		}
		a.Kinds = append(a.Kinds, answer.HorizonKind{Label: k.label, Replicas: q.Kinds[i].Needs,
			Cost: alone.Cost})
	}
	for _, r := range best.Rentals {
		a.Rentals = append(a.Rentals, answer.Rental{Label: kinds[r.Kind].label,
			Replicas: r.Replicas, Term: q.Kinds[r.Kind].Terms[r.Term].Months, From: r.From + 1,
			To: r.To, Cost: r.Cost})
	}
	for _, c := range []struct {
		by     float64
		regret *float64
	}{{0.5, &a.HalfRegret}, {2, &a.TwiceRegret}} {
		if *c.regret, err = best.Regret(needsOf(h, kinds, c.by)); err != nil {
			return err
		}
	}
	return nil
}

// needsOf is the question for a growth that is by times the expected one. A server whose replicas
// are too few for twice the growth has all there are.
func needsOf(h *asked.Horizon, kinds []*growing, by float64) *horizon.Question {
	q := &horizon.Question{Change: h.Change.Amount}
	for _, k := range kinds {
		monthly := k.price * asked.HoursOfMonth
		kind := horizon.Kind{Name: k.label, Terms: []horizon.Term{{Months: 1, Monthly: monthly}}}
		if k.onDemand {
			for _, c := range h.Commitments {
				kind.Terms = append(kind.Terms,
					horizon.Term{Months: c.Months, Monthly: monthly * (1 - c.Saves)})
			}
		}
		for m := range h.Months {
			n := k.replicas(h.Factor(m, by))
			if n == 0 {
				n = slices.Max(k.sizes)
			}
			kind.Needs = append(kind.Needs, n)
		}
		q.Kinds = append(q.Kinds, kind)
	}
	return q
}
