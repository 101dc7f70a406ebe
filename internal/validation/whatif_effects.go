package validation

import (
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// capacity returns the highest measured rate and its stage.
func (v *variant) capacity() (float64, *whatifLoad) {
	best := &v.stages[0]
	for i := range v.stages {
		if v.stages[i].reached > best.reached {
			best = &v.stages[i]
		}
	}
	return best.reached, best
}

func (r *whatifRun) comparisons(v *variant) []accuracy.Comparison {
	var list []accuracy.Comparison
	for i := range v.stages {
		if r.stages[i] != nil {
			list = append(list,
				rehearsable(v.stages[i].Place.Compare(v.stages[i].measured, r.stages[i]),
					r.rehearsals[i])...)
		}
	}
	measured, at := v.capacity()
	capacity := at.Place.One("capacity", "requests/s", measured, r.capacity)
	return append(list, rehearsable(capacity, r.rehearsals[len(v.stages)])...)
}

// effects compares ratios to the base: of capacities, and of medians at the lowest rate of both.
func effects(w *whatIf, own, base *whatifRun) []accuracy.Comparison {
	before, _ := w.base.capacity()
	after, at := w.variant.capacity()
	list := at.Place.One("effect on capacity", "×", after/before, own.capacity/base.capacity)
	for i := range w.stages {
		s := &w.stages[i]
		if own.stages[i] == nil {
			continue
		}
		for _, m := range s.measured {
			measured, predicted, ok := w.base.interpolate(base, s.rate, m.Quantity)
			if !ok {
				continue
			}
			list = append(list, s.Place.One("effect on "+m.Quantity, "×", m.Value/measured,
				own.stages[i][m.Quantity]/predicted)...)
		}
	}
	return list
}

// interpolate returns a measured and a predicted figure at a rate, straight between the stages that
// were not saturated; false outside of them.
func (v *variant) interpolate(r *whatifRun, rate float64, quantity string) (measured,
	predicted float64, ok bool) {
	for i := range v.stages {
		s := &v.stages[i]
		if r.stages[i] == nil {
			return 0, 0, false
		}
		k := slices.IndexFunc(s.measured, func(m accuracy.Measurement) bool {
			return m.Quantity == quantity
		})
		if k < 0 {
			return 0, 0, false
		}
		if s.rate == rate {
			return s.measured[k].Value, r.stages[i][quantity], true
		}
		if i+1 == len(v.stages) || r.stages[i+1] == nil || rate < s.rate {
			return 0, 0, false
		}
		next := &v.stages[i+1]
		if rate <= next.rate && k < len(next.measured) && next.measured[k].Quantity == quantity {
			x := (rate - s.rate) / (next.rate - s.rate)
			return s.measured[k].Value + x*(next.measured[k].Value-s.measured[k].Value),
				r.stages[i][quantity] + x*(r.stages[i+1][quantity]-r.stages[i][quantity]), true
		}
	}
	return 0, 0, false
}
