package distil

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// untuned is a fraction of the bandwidth: kernels that stream weights more slowly were run without
// their tuned configurations, which servers load.
const untuned = 0.25

// vague is an error beyond which one form does not describe the kernels: they are several.
const vague = 0.2

// experts distils routed experts, of the kernel that the engine chose for most of the shapes, with
// tokens spread evenly.
func experts(into *hardware.Kernels, a *hardware.Accelerator, rows []row) error {
	for format, rows := range byFormat(rows) {
		if format.weights == hardware.MXFP4 &&
			(format.operand == hardware.FP8) != (a.Peak[hardware.FP4] > 0) {
			continue // the step clock takes the other arithmetic on this accelerator
		}
		source, routing := mostUsed(rows)
		var kernels []kernel
		for _, r := range rows {
			if r.source == source && r.routing == routing && r.sizes[2]/r.sizes[5] >= 64 {
				kernels = append(kernels, expertKernel(a, format, r))
			}
		}
		if len(kernels) < 100 {
			continue
		}
		p, quality := fitExperts(kernels)
		if p[2] < untuned || quality.Error > vague {
			continue
		}
		into.Experts[format.weights] = hardware.ExpertKernel{
			Compute: rounded(p[0]), Width: rounded(p[1]), Memory: rounded(p[2]),
			Kernel: hardware.Seconds(rounded(p[3])),
			Tile:   rounded(p[4]), Passes: rounded(p[5]), Name: source, Fit: quality,
		}
	}
	return nil
}

// worse is how much larger the error of a form may be whose fixed time is no longer than the
// fastest kernel.
const worse = 1.2

// fitExperts fits the form of hardware.ExpertKernel. No kernel is faster than its fixed time; but
// that differs by shape, so that one for all may be longer than the fastest kernel where the others
// insist.
func fitExperts(kernels []kernel) ([]float64, hardware.KernelFit) {
	least := slices.MinFunc(kernels, func(a, b kernel) int {
		return cmp.Compare(a.seconds, b.seconds)
	}).seconds
	within := func(fixed parameter) ([]float64, hardware.KernelFit) {
		return fit(kernels, []parameter{
			{0.5, 0.02, 1}, {200, 0.05, 4000}, {0.8, 0.1, 1}, fixed, {32, 1, 64}, {0.5, 0.001, 20},
		})
	}
	free, best := within(parameter{30e-6, 2e-6, 300e-6})
	if p, quality := within(parameter{least / 2, 2e-6, least}); quality.Error <= worse*best.Error {
		return p, quality
	}
	return free, best
}

// expertKernel returns the form of hardware.ExpertKernel for a row: all tokens choose among all
// experts, and the accelerator has a part of them.
func expertKernel(a *hardware.Accelerator, f format, r row) kernel {
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
			compute := flops * (rows + touched*p[4]/2) / p[0] * (1 + p[1]/width)
			return p[3] + overlap(compute, memory/p[2]) + p[5]*moved
		},
		seconds: r.seconds, shape: fmt.Sprintf("%g of %g experts of %g × %g", active, experts,
			hidden, r.sizes[2]),
	}
}

// mostUsed returns the kernel that most rows are of, and of its rows the most even spread of
// tokens.
func mostUsed(rows []row) (source, routing string) {
	count := map[string]int{}
	for _, r := range rows {
		count[r.source]++
	}
	for name, n := range count {
		if n > count[source] || n == count[source] && name < source {
			source = name
		}
	}
	for _, r := range rows {
		if r.source == source && (routing == "" || r.routing < routing) {
			routing = r.routing
		}
	}
	return source, routing
}
