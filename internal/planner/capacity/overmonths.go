package capacity

import (
	"cmp"
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

// overMonths plans the months of a horizon. Each server is sized by simulations of whole fleets at
// the load of the first month and of the last, and in between where the larger fleet has more
// replicas than the smaller one.
func overMonths(h *asked.Horizon, kinds []*growing, size func(factor float64) error) (
	*answer.Horizon, error) {
	at := func(month int) float64 { return asked.Round(h.Factor(month, 1)) }
	var between func(low, high int) error
	between = func(low, high int) error {
		same := !slices.ContainsFunc(kinds, func(k *growing) bool {
			return k.replicas(at(low)) != k.replicas(at(high))
		})
		if same || high-low < 2 {
			return nil
		}
		mid := (low + high) / 2
		if err := size(at(mid)); err != nil {
			return err
		}
		return cmp.Or(between(low, mid), between(mid, high))
	}
	last := h.Months - 1
	err := size(at(0))
	if err == nil && h.Growth > 0 {
		if err = size(at(last)); err == nil {
			err = between(0, last)
		}
		// Twice the expected growth is looked at too, more roughly.
		for share := 1.0; err == nil && share >= 0.5; share -= 0.5 {
			err = size(asked.Round(h.Factor(last, 1+share)))
		}
	}
	if err != nil {
		return nil, err
	}
	a := &answer.Horizon{Months: h.Months, Growth: h.Growth}
	kinds = slices.DeleteFunc(kinds, func(k *growing) bool {
		few := k.replicas(at(last)) == 0
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

// add notes the replicas for a load; 0 where there are too few. A larger load needs no fewer.
func (k *growing) add(factor float64, n int) {
	i, _ := slices.BinarySearch(k.factors, factor)
	k.factors, k.sizes = slices.Insert(k.factors, i, factor), slices.Insert(k.sizes, i, n)
	for i := 1; i < len(k.sizes); i++ {
		if k.sizes[i-1] == 0 {
			k.sizes[i] = 0
		} else if k.sizes[i] > 0 {
			k.sizes[i] = max(k.sizes[i], k.sizes[i-1])
		}
	}
}

// replicas returns how many replicas a server has for a multiple of the load; 0 where there are too
// few. Between loads that were simulated it has as many as the fleet of the next smaller one would
// have at the same rate of each, since larger fleets share their requests no less evenly, and no
// more than the fleet of the next larger one.
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
			n := k.replicas(asked.Round(h.Factor(m, by)))
			if n == 0 {
				n = slices.Max(k.sizes)
			}
			kind.Needs = append(kind.Needs, n)
		}
		q.Kinds = append(q.Kinds, kind)
	}
	return q
}
