package distil

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
)

// products distils dense matrix products. Left out are products smaller than any of a model, few
// rows of weights that a cache holds, which no server finds there, and what takes no longer than
// the host needs to launch it.
func products(into *hardware.Kernels, a *hardware.Accelerator, rows []row) error {
	for format, rows := range byFormat(rows) {
		launch := launchTime(rows)
		var kernels []kernel
		for _, r := range rows {
			m, n, k := r.sizes[0], r.sizes[1], r.sizes[2]
			bytes := n * k * format.bits / 8
			small := n < 1024 || k < 512 || n > 50000 || k > 50000
			cached := bytes < 0.7*a.L2 && m < 1024
			if small || cached || r.seconds < 1.3*launch {
				continue
			}
			compute, memory := 2*paddedRows(m)*n*k/peak(a, format), bytes/a.Bandwidth
			kernels = append(kernels, kernel{
				form: func(p []float64) float64 {
					return p[2] + overlap(compute/p[0], memory/p[1])
				},
				seconds: r.seconds, shape: fmt.Sprintf("%g × %g", n, k),
			})
		}
		if len(kernels) < 200 || launch > tooLong {
			continue
		}
		fixed := parameter{5e-6, 5e-7, 2e-5}
		if launch > 0 { // then it is not known, and other accelerators' is taken
			fixed = parameter{4e-6, 2e-6, 6e-6}
		}
		p, quality := fit(kernels, []parameter{{0.6, 0.05, 1}, {0.8, 0.2, 1}, fixed})
		into.Products[format.weights] = hardware.ProductKernel{
			Compute: rounded(p[0]), Memory: rounded(p[1]), Kernel: hardware.Seconds(rounded(p[2])),
			Fit: quality,
		}
	}
	return nil
}

// tooLong is a time to launch a kernel, in seconds, that hides most of what a server computes.
const tooLong = 30e-6

// paddedRows rounds rows up as the clock does with tiles of 128.
func paddedRows(m float64) float64 {
	if m <= 64 {
		return math.Pow(2, math.Ceil(math.Log2(max(m, 16))))
	}
	return math.Ceil(m/128) * 128
}

// launchTime returns what the least of the kernels take, where that is more than a kernel in a
// captured graph does: then the host launched them one by one, and the fixed time is its own.
func launchTime(rows []row) float64 {
	var least []float64
	for _, r := range rows {
		if r.sizes[0] <= 16 {
			least = append(least, r.seconds)
		}
	}
	if len(least) == 0 {
		return 0
	}
	slices.Sort(least)
	if t := least[len(least)/20]; t > 9e-6 {
		return t
	}
	return 0
}

// format is a number format of weights and of the arithmetic, with the bits of a weight.
type format struct {
	weights, operand hardware.DType
	bits             float64
}

// byFormat groups rows. Of formats with two kinds of arithmetic each is a format.
func byFormat(rows []row) map[format][]row {
	groups := map[format][]row{}
	for _, r := range rows {
		weights, operand, known := steptime.TableFormat(r.format)
		if !known {
			continue
		}
		f := format{weights, operand, map[hardware.DType]float64{
			hardware.BF16: 16, hardware.INT4: 4 * (1 + 0.04), hardware.FP4: 4.5,
			hardware.MXFP4: 4.25,
		}[weights]}
		if f.bits == 0 {
			f.bits = 8
		}
		groups[f] = append(groups[f], r)
	}
	return groups
}

// peak returns the rate of the arithmetic in FLOP/s, or the rate in 16 bits where it has no such
// arithmetic.
func peak(a *hardware.Accelerator, f format) float64 {
	if p := a.Peak[f.operand]; p > 0 {
		return p
	}
	return a.Peak[hardware.BF16]
}
