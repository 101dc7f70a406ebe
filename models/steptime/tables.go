package steptime

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// Tables holds times of single kernels that were measured on a user's own accelerator. They replace
// formulas within the measured range. A nil *Tables has no measurements.
type Tables struct {
	products map[productKey]curve
	prefill  map[attentionKey]curve
	decoding map[attentionKey][]batchCurve
	experts  map[expertsKey]curve
	// allReduce is the engine's own, library the collective library's, by number of accelerators
	// and bytes.
	allReduce, library map[int]curve
	// sizes are the sizes of the products that were measured, by number format.
	sizes map[hardware.DType]sizes
	// read names the tables by the engine and version that they are of. Skipped are the files that
	// were not understood, and notes say where a table of another engine or version was taken.
	read           map[string][]string
	skipped, notes []string
}

// sizes are the numbers of columns and of inner elements of matrix products, in ascending order.
type sizes struct{ n, k []int }

// productKey names a matrix product [m, K] times [K, N] by the format of the weights.
type productKey struct {
	dtype hardware.DType
	n, k  int
}

// attentionKey names attention by what one accelerator holds of a layer. Latent attention has
// neither KV heads nor a head dimension.
type attentionKey struct {
	heads, kvHeads, headDim int
	kv                      hardware.DType
}

// expertsKey names the routed experts of a layer, both products together.
type expertsKey struct {
	dtype, operand                        hardware.DType
	hidden, intermediate, active, experts int
	tensor, expert                        int
}

// batchCurve is the time of decode attention by context, at one number of sequences.
type batchCurve struct {
	sequences int
	byContext curve
}

// curve is a time in seconds by a count, measured at some counts: after finish, each once, in
// ascending order.
type curve []point

// point is the time in seconds at the count x.
type point struct{ x, seconds float64 }

// add puts in a measurement. Repeated measurements of the same count are averaged by finish.
func (c curve) add(x, seconds float64) curve { return append(c, point{x, seconds}) }

// finish sorts the points and averages points of the same count.
func (c curve) finish() curve {
	slices.SortFunc(c, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	var out curve
	for i := 0; i < len(c); {
		j, sum := i, 0.0
		for ; j < len(c) && c[j].x == c[i].x; j++ {
			sum += c[j].seconds
		}
		out = append(out, point{c[i].x, sum / float64(j-i)})
		i = j
	}
	return out
}

// slowest sorts the points and keeps the slowest of points with the same count.
func (c curve) slowest() curve {
	slices.SortFunc(c, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.seconds, a.seconds))
	})
	return slices.CompactFunc(c, func(a, b point) bool { return a.x == b.x })
}

// at interpolates between the measured counts, straight in logarithms of both; false outside of
// them.
func (c curve) at(x float64) (float64, bool) {
	if len(c) == 0 || x < c[0].x || x > c[len(c)-1].x {
		return 0, false
	}
	i, exact := slices.BinarySearchFunc(c, x, func(p point, x float64) int {
		return cmp.Compare(p.x, x)
	})
	if exact {
		return c[i].seconds, true
	}
	return logInterpolate(c[i-1], c[i], x), true
}

// logInterpolate returns the power law through two points at x.
func logInterpolate(a, b point, x float64) float64 {
	return a.seconds * math.Pow(b.seconds/a.seconds, math.Log(x/a.x)/math.Log(b.x/a.x))
}

// product returns the measured seconds of a matrix product by its rows. Between measured sizes
// times are interpolated straight in the logarithms of both.
func (t *Tables) product(d hardware.DType, n, k int) curve {
	if t == nil {
		return nil
	}
	d = sixteen(d)
	if c := t.products[productKey{d, n, k}]; c != nil {
		return c
	}
	n0, n1, ok := around(t.sizes[d].n, n)
	k0, k1, reached := around(t.sizes[d].k, k)
	if !ok || !reached {
		return nil
	}
	at := func(n int) curve {
		return blend(t.products[productKey{d, n, k0}], t.products[productKey{d, n, k1}],
			part(k0, k1, k))
	}
	return blend(at(n0), at(n1), part(n0, n1, n))
}

// around returns the neighbours of x in an ascending list; false where x is outside of it.
func around(list []int, x int) (below, above int, ok bool) {
	i, exact := slices.BinarySearch(list, x)
	switch {
	case exact:
		return x, x, true
	case i == 0 || i == len(list):
		return 0, 0, false
	}
	return list[i-1], list[i], true
}

// part says how far x is between a and b, in logarithms.
func part(a, b, x int) float64 {
	if a == b {
		return 0
	}
	return math.Log(float64(x)/float64(a)) / math.Log(float64(b)/float64(a))
}

// blend returns the power law between two curves at the counts that both have.
func blend(a, b curve, part float64) curve {
	if part == 0 {
		return a
	}
	var c curve
	for _, p := range a {
		if s, ok := b.at(p.x); ok {
			c = append(c, point{p.x, p.seconds * math.Pow(s/p.seconds, part)})
		}
	}
	return c
}

// chunk returns the measured seconds of the attention of one layer to a prompt by its tokens.
func (t *Tables) chunk(k attentionKey) curve {
	if t == nil {
		return nil
	}
	return t.prefill[k]
}

// layer returns the measured seconds of the routed experts of one layer by tokens.
func (t *Tables) layer(k expertsKey) curve {
	if t == nil {
		return nil
	}
	return t.experts[k]
}

// reduce returns the measured seconds of an all-reduce of the given bytes: the faster one where the
// engine has its own.
func (t *Tables) reduce(ranks int, bytes float64, custom bool) (float64, bool) {
	if t == nil {
		return 0, false
	}
	seconds, ok := t.library[ranks].at(bytes)
	if own, measured := t.allReduce[ranks].at(bytes); custom && measured && (!ok || own < seconds) {
		return own, true
	}
	return seconds, ok
}

// reduces reports whether all-reduces of the given accelerators were measured.
func (t *Tables) reduces(ranks int) bool {
	return t != nil && len(t.allReduce[ranks])+len(t.library[ranks]) > 0
}

// contexts returns the measured seconds of decode attention of one layer for n sequences, by the
// context of each, where batches around n were measured: between them the time is a power law of n.
func (t *Tables) contexts(k attentionKey, n int) curve {
	if t == nil {
		return nil
	}
	batches := t.decoding[k]
	i, exact := slices.BinarySearchFunc(batches, n, func(b batchCurve, n int) int {
		return cmp.Compare(b.sequences, n)
	})
	if exact {
		return batches[i].byContext
	}
	if i == 0 || i == len(batches) {
		return nil
	}
	low, high := batches[i-1], batches[i]
	return blend(low.byContext, high.byContext, part(low.sequences, high.sequences, n))
}

// sixteen returns one format for both 16-bit formats, since kernels take the same time for both.
func sixteen(d hardware.DType) hardware.DType {
	if d == hardware.FP16 {
		return hardware.BF16
	}
	return d
}
