package distil

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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

// untuned is a fraction of the bandwidth: kernels that stream weights more slowly were run without
// their tuned configurations, which servers load.
const untuned = 0.25

// vague is an error beyond which one form does not describe the kernels: they are several.
const vague = 0.2

// few is the share of the shapes of a format's most measured back end below which another one was
// measured in special cases alone.
const few = 0.25

// experts distils routed experts, for each back end of a format the kernel of most of its shapes,
// with tokens spread evenly.
func experts(die []*card, rows [][]row) {
	for format, rows := range byFormat(rows) {
		if format.weights == hardware.MXFP4 &&
			(format.operand == hardware.FP8) != (die[0].Peak[hardware.FP4] > 0) {
			continue // the step clock takes the other arithmetic on this die
		}
		bySource := map[string][][]row{}
		for i, list := range rows {
			for _, r := range list {
				if bySource[r.source] == nil {
					bySource[r.source] = make([][]row, len(rows))
				}
				bySource[r.source][i] = append(bySource[r.source][i], r)
			}
		}
		for _, source := range slices.Sorted(maps.Keys(bySource)) {
			expertsOf(die, format, source, bySource[source])
		}
		for _, c := range die {
			most := 0
			for _, e := range c.kernels.Experts[format.weights] {
				most = max(most, e.Fit.Rows)
			}
			maps.DeleteFunc(c.kernels.Experts[format.weights],
				func(_ string, e hardware.ExpertKernel) bool {
					return float64(e.Fit.Rows) < few*float64(most)
				})
		}
	}
}

// expertsOf distils the rows of one kernel, and keeps it on the cards on which it was measured well
// enough, and its back end with no other kernel more often.
func expertsOf(die []*card, f format, source string, rows [][]row) {
	var kernels []kernel
	var kept []*card
	for i, c := range die {
		if list := c.experts(f, rows[i], len(kept)); len(list) >= 100 {
			kept, kernels = append(kept, c), append(kernels, list...)
		}
	}
	if len(kept) == 0 {
		return
	}
	p, quality := fitExperts(len(kept), kernels)
	name := backendOf(source, f)
	for i, c := range kept {
		own := p[ofDie+ofCard*i:]
		e := hardware.ExpertKernel{
			Compute: rounded(p[0]), Width: rounded(p[1]), Kernel: hardware.Seconds(rounded(p[2])),
			Tile: rounded(p[3]), Memory: rounded(own[0]), Passes: rounded(own[1]), Name: source,
			Fit: quality[i],
		}
		if e.Memory < untuned || e.Fit.Error > vague {
			continue
		}
		if c.kernels.Experts[f.weights] == nil {
			c.kernels.Experts[f.weights] = map[string]hardware.ExpertKernel{}
		}
		if found := c.kernels.Experts[f.weights]; e.Fit.Rows > found[name].Fit.Rows {
			found[name] = e
		}
	}
}

// experts returns the kernels of a card, which is the one at place, for one routing of tokens.
func (c *card) experts(f format, rows []row, place int) []kernel {
	if len(rows) == 0 {
		return nil
	}
	routing := slices.MinFunc(rows, func(a, b row) int {
		return cmp.Compare(a.routing, b.routing)
	}).routing
	var kernels []kernel
	for _, r := range rows {
		if r.routing == routing && r.sizes[2]/r.sizes[5] >= 64 {
			kernels = append(kernels, expertKernel(c.Accelerator, f, r, place))
		}
	}
	return kernels
}

// backendOf returns the name that package engines has for the back end of a kernel, which engines
// name by their classes. TensorRT-LLM's own choice ("moe_torch_flow") is Triton for MXFP4 on
// Hopper, and CUTLASS elsewhere.
func backendOf(source string, f format) string {
	if source == "moe_torch_flow" && f.weights == hardware.MXFP4 {
		return "triton"
	}
	for _, known := range [][2]string{{"flashinfer_cutlass", "flashinfer-cutlass"},
		{"flashinfer_trtllm", "flashinfer-trtllm"}, {"marlin", "marlin"}, {"triton", "triton"},
		{"vllm_fused_moe", "triton"}, {"moe_torch_flow", "cutlass"}} {
		if strings.Contains(source, known[0]) {
			return known[1]
		}
	}
	return source
}

// worse is how much larger the error of a form may be whose fixed time is no longer than the
// fastest kernel.
const worse = 1.2

// The numbers of parameters of routed experts that a die has, and that each of its cards has.
const ofDie, ofCard = 4, 2

// fitExperts fits the form of hardware.ExpertKernel. No kernel is faster than its fixed time; but
// that differs by shape, so that one for all may be longer than the fastest kernel where the others
// insist.
func fitExperts(cards int, kernels []kernel) ([]float64, []hardware.KernelFit) {
	least := slices.MinFunc(kernels, func(a, b kernel) int {
		return cmp.Compare(a.seconds, b.seconds)
	}).seconds
	within := func(fixed parameter) ([]float64, []hardware.KernelFit) {
		parameters := []parameter{{0.5, 0.02, 1}, {200, 0.05, 4000}, fixed, {32, 1, 64}}
		for range cards {
			parameters = append(parameters, parameter{0.8, 0.1, 1}, parameter{0.5, 0.001, 20})
		}
		return fit(cards, kernels, parameters)
	}
	free, best := within(parameter{30e-6, 2e-6, 300e-6})
	p, quality := within(parameter{least / 2, 2e-6, least})
	for i := range quality {
		if quality[i].Error > worse*best[i].Error {
			return free, best
		}
	}
	return p, quality
}

// expertKernel returns the form of hardware.ExpertKernel for a row of the card at place: all tokens
// choose among all experts, and the accelerator has a part of them.
func expertKernel(a *hardware.Accelerator, f format, r row, place int) kernel {
	tokens, hidden, active, experts := r.sizes[0], r.sizes[1], r.sizes[3], r.sizes[4]
	width, ranks := r.sizes[2]/r.sizes[5], r.sizes[6]
	matrices := 3 * hidden * width
	rows := tokens * active / ranks
	touched := min(experts, tokens*active) / ranks
	flops := 2 * matrices / peak(a, f)
	memory := touched * matrices * f.bits / 8 / a.Bandwidth
	moved := tokens * active * (4*hidden + 6*width) / a.Bandwidth
	return kernel{
		form: func(p []float64) float64 {
			own := p[ofDie+ofCard*place:]
			compute := flops * (rows + touched*p[3]/2) / p[0] * (1 + p[1]/width)
			return p[2] + overlap(compute, memory/own[0]) + own[1]*moved
		},
		seconds: r.seconds, card: place, shape: fmt.Sprintf("%g of %g experts of %g × %g", active,
			experts, hidden, r.sizes[2]),
	}
}
