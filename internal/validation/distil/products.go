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
// the host needs to launch it. A format is kept of cards on which enough of its products count.
func products(die []*card, rows [][]row) {
	for format, rows := range byFormat(rows) {
		fixed := parameter{5e-6, 5e-7, 2e-5}
		var kernels []kernel
		var kept []*card
		for i, c := range die {
			launch := launchTime(rows[i])
			list := c.products(format, rows[i], launch, len(kept))
			if len(list) < 200 || launch > tooLong {
				continue
			}
			if launch > 0 { // then it is not known, and other accelerators' is taken
				fixed = parameter{4e-6, 2e-6, 6e-6}
			}
			kept, kernels = append(kept, c), append(kernels, list...)
		}
		if len(kept) == 0 {
			continue
		}
		parameters := []parameter{{0.6, 0.05, 1}, fixed}
		for range kept {
			parameters = append(parameters, parameter{0.8, 0.2, 1})
		}
		p, quality := fit(len(kept), kernels, parameters)
		for i, c := range kept {
			c.kernels.Products[format.weights] = hardware.ProductKernel{Compute: rounded(p[0]),
				Memory: rounded(p[2+i]), Kernel: hardware.Seconds(rounded(p[1])), Fit: quality[i]}
		}
	}
}

// products returns the products of a card that count, which is the one at place.
func (c *card) products(f format, rows []row, launch float64, place int) []kernel {
	var kernels []kernel
	for _, r := range rows {
		m, n, k := r.sizes[0], r.sizes[1], r.sizes[2]
		bytes := n * k * f.bits / 8
		small := n < 1024 || k < 512 || n > 50000 || k > 50000
		cached := bytes < 0.7*c.L2 && m < 1024
		if small || cached || r.seconds < 1.3*launch {
			continue
		}
		compute, memory := 2*paddedRows(m)*n*k/peak(c.Accelerator, f), bytes/c.Bandwidth
		kernels = append(kernels, kernel{
			form: func(p []float64) float64 {
				return p[1] + overlap(compute/p[0], memory/p[2+place])
			},
			seconds: r.seconds, shape: fmt.Sprintf("%g × %g", n, k), card: place,
		})
	}
	return kernels
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

// byFormat groups the rows of cards. Of formats with two kinds of arithmetic each is a format.
func byFormat(rows [][]row) map[format][][]row {
	groups := map[format][][]row{}
	for i, list := range rows {
		for _, r := range list {
			f, known := formatOf(r.format)
			if !known {
				continue
			}
			if groups[f] == nil {
				groups[f] = make([][]row, len(rows))
			}
			groups[f][i] = append(groups[f][i], r)
		}
	}
	return groups
}

// formatOf returns the format that a table names; false where the clock does not know it.
func formatOf(name string) (format, bool) {
	weights, operand, known := steptime.TableFormat(name)
	f := format{weights, operand, map[hardware.DType]float64{
		hardware.BF16: 16, hardware.INT4: 4 * (1 + 0.04), hardware.FP4: 4.5,
		hardware.MXFP4: 4.25,
	}[weights]}
	if f.bits == 0 {
		f.bits = 8
	}
	return f, known
}

// peak returns the rate of the arithmetic in FLOP/s, or the rate in 16 bits where it has no such
// arithmetic.
func peak(a *hardware.Accelerator, f format) float64 {
	if p := a.Peak[f.operand]; p > 0 {
		return p
	}
	return a.Peak[hardware.BF16]
}
