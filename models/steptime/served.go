package steptime

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/engines"
)

// Served holds an engine's factors on the constants of an accelerator. The constants were fitted to
// servers of all engines together, and a factor is the ratio for one engine's kernels in its
// servers. 0 means 1.
type Served struct {
	// Fixed is the factor on the fixed times of kernels, since engines fuse more or fewer kernels.
	Fixed float64
	// Sampling is the factor on the passes over the logits where only the largest is looked for:
	// see Engine.Sorted.
	Sampling float64
	// Prefill is the factor on the compute efficiency of the attention of prompts.
	Prefill float64
	// FP8 and FP4 are the factors on the compute efficiency of dense products in 8 and in 4 bits,
	// in addition to Engine.Compute.
	FP8 float64 `yaml:"fp8"`
	FP4 float64 `yaml:"fp4"`
	// Backends are the factors of back ends of routed experts. A back end that is not among them
	// has the factors of its nearest kin: see backend.
	Backends []Backend `yaml:",omitempty"`
}

// Backend holds the factors of one back end's kernels for routed experts in a server.
type Backend struct {
	// Name is the back end's in package engines; empty for an engine that has one for all.
	Name string
	// Formats are the number formats of the weights.
	Formats []hardware.DType
	// Compute is the factor on the compute efficiency of the kernels; 0 means 1. Memory is the
	// fraction of the bandwidth, at most MostBandwidth, at which the weights stream in; 0 means the
	// efficiency of the kernels measured alone.
	Compute, Memory float64 `yaml:",omitempty"`
	// Held is the time that a layer takes for each expert that an accelerator has, whether tokens
	// visit it or not, where kernels go through all of them: DeepGEMM rounds the rows of each up to
	// 128, fills them, and multiplies them (vllm/model_executor/layers/fused_moe/deep_gemm_moe.py,
	// compute_aligned_M, v0.11.1).
	Held hardware.Seconds `yaml:",omitempty"`
}

// MostBandwidth is the largest fraction of the bandwidth of a data sheet that kernels reach: of
// those measured alone that read more than caches hold, no kernel is above it by more than its
// error.
const MostBandwidth = 0.95

// Shares of the peak that products and the attention of prompts of an engine with Alike reach
// before its own factors, about the mean of accelerators' libraries. The factors are fitted beside
// them, so that other shares would give other factors, and the same times.
const (
	alikeProducts = 0.7
	alikePrompts  = 0.5
)

// applied returns the constants as the engine has them.
func (e *Engine) applied(constants *hardware.Constants) *hardware.Constants {
	c, s := *constants, &e.Served
	if e.Alike {
		c.Linear.Compute = map[hardware.DType]float64{hardware.BF16: alikeProducts}
		c.Experts.Compute = c.Linear.Compute
		c.Attention.PrefillCompute = alikePrompts
	}
	for _, fixed := range []*hardware.Seconds{
		&c.Linear.Kernel, &c.Elementwise.Kernel, &c.Attention.DecodeKernel,
		&c.Attention.PrefillKernel, &c.Head.Kernel, &c.Experts.Kernel,
	} {
		*fixed *= hardware.Seconds(or1(s.Fixed))
	}
	c.Head.Passes *= or1(s.Sampling)
	c.Attention.PrefillCompute = min(1, c.Attention.PrefillCompute*or1(s.Prefill))
	return &c
}

// product returns the factor on the efficiency of dense products of matrices stored as d.
func (s *Served) product(d hardware.DType) float64 {
	switch d {
	case hardware.FP8, hardware.FP8Block:
		return or1(s.FP8)
	case hardware.FP4, hardware.MXFP4:
		return or1(s.FP4)
	}
	return 1
}

// backend returns the factors of a back end for experts stored as d. Where no server with it was
// measured, its nearest kin lends them, which is then named: the same back end in another
// format, or else another one in the same format. No server with experts in INT4 was measured, nor
// another one that tells of them.
func (s *Served) backend(name string, d hardware.DType) (b Backend, kin string) {
	of := func(holds func(b *Backend) bool) bool {
		i := slices.IndexFunc(s.Backends, func(b Backend) bool { return holds(&b) })
		if i >= 0 {
			b = s.Backends[i]
			kin = fmt.Sprintf("%s in %s", b.Name, b.Formats[0])
		}
		return i >= 0
	}
	same := func(b *Backend) bool { return b.Name == name || b.Name == "" }
	format := func(b *Backend) bool { return slices.Contains(b.Formats, d) }
	switch {
	case of(func(b *Backend) bool { return same(b) && format(b) }):
		return b, ""
	case d == hardware.INT4 || !of(same) && !of(format):
		return Backend{}, ""
	}
	return b, kin
}

// Level says how the kernels of some versions of an engine, or of a version on some accelerators,
// differ from the kernels that its constants describe. Both factors are fitted to servers of the
// version.
type Level struct {
	// Versions, Generations of accelerators and Formats of weights are where the level holds; an
	// empty list means all.
	Versions    engines.Range `yaml:",inline"`
	Generations []string
	Formats     []hardware.DType
	// Fixed is the factor on the fixed times of kernels, Work that on the time of arithmetic and of
	// reading memory.
	Fixed, Work float64
}
