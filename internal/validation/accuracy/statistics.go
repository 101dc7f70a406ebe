package accuracy

import (
	"cmp"
	"math"
	"slices"
)

// grouped returns values by key, and the keys in the order of their first values.
func grouped[V any, K comparable](list []V, key func(*V) K) (order []K, of map[K][]V) {
	of = map[K][]V{}
	for i := range list {
		k := key(&list[i])
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], list[i])
	}
	return order, of
}

// Quantile returns the q-quantile of sorted values, interpolated between the nearest ranks as NumPy
// does.
func Quantile(sorted []float64, q float64) float64 {
	rank := q * float64(len(sorted)-1)
	below := int(math.Floor(rank))
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (rank-float64(below))*(sorted[above]-sorted[below])
}

// median returns the median of values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	return Quantile(values, 0.5)
}

// weighted is a value and how much it counts.
type weighted struct{ value, weight float64 }

// weightedQuantile returns the value that holds a share of the weight below.
func weightedQuantile(list []weighted, share float64) float64 {
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total, sum := 0.0, 0.0
	for _, w := range list {
		total += w.weight
	}
	for _, w := range list {
		if sum += w.weight; sum >= share*total*(1-1e-9) {
			return w.value
		}
	}
	return 0
}

// rounded returns x in parts of a unit, and 0 for −0, as all machines write it.
func rounded(x, parts float64) float64 { return math.Round(x*parts)/parts + 0 }
