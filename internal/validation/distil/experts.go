package distil

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

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
func experts(into *hardware.Kernels, a *hardware.Accelerator, rows []row) error {
	for format, rows := range byFormat(rows) {
		if format.weights == hardware.MXFP4 &&
			(format.operand == hardware.FP8) != (a.Peak[hardware.FP4] > 0) {
			continue // the step clock takes the other arithmetic on this accelerator
		}
		bySource := map[string][]row{}
		for _, r := range rows {
			bySource[r.source] = append(bySource[r.source], r)
		}
		found, most := map[string]hardware.ExpertKernel{}, 0.0
		for _, source := range slices.Sorted(maps.Keys(bySource)) {
			e, ok := expertsOf(a, format, source, bySource[source])
			if name := backendOf(source, format); ok && e.Fit.Rows > found[name].Fit.Rows {
				found[name] = e
			}
			most = max(most, float64(e.Fit.Rows))
		}
		maps.DeleteFunc(found, func(_ string, e hardware.ExpertKernel) bool {
			return float64(e.Fit.Rows) < few*most
		})
		if len(found) > 0 {
			into.Experts[format.weights] = found
		}
	}
	return nil
}

// expertsOf distils the rows of one kernel; false where it was not measured well enough.
func expertsOf(a *hardware.Accelerator, f format, source string, rows []row) (
	e hardware.ExpertKernel, ok bool) {
	routing := slices.MinFunc(rows, func(a, b row) int {
		return cmp.Compare(a.routing, b.routing)
	}).routing
	var kernels []kernel
	for _, r := range rows {
		if r.routing == routing && r.sizes[2]/r.sizes[5] >= 64 {
			kernels = append(kernels, expertKernel(a, f, r))
		}
	}
	if len(kernels) < 100 {
		return e, false
	}
	p, quality := fitExperts(kernels)
	return hardware.ExpertKernel{
		Compute: rounded(p[0]), Width: rounded(p[1]), Memory: rounded(p[2]),
		Kernel: hardware.Seconds(rounded(p[3])),
		Tile:   rounded(p[4]), Passes: rounded(p[5]), Name: source, Fit: quality,
	}, p[2] >= untuned && quality.Error <= vague
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
