package steptime

import (
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
	// Experts, ExpertsFP8 and ExpertsFP4 are the factors on the compute efficiency of routed
	// experts by format. Formats without a measured server, such as INT4, have no rate.
	Experts    float64
	ExpertsFP8 float64 `yaml:"experts_fp8"`
	ExpertsFP4 float64 `yaml:"experts_fp4"`
	// ExpertMemory, ExpertMemoryFP8 and ExpertMemoryFP4 are the fractions of the bandwidth, at most
	// MostBandwidth, at which the weights of routed experts stream in. 0 means the efficiency of
	// the kernels measured alone.
	ExpertMemory    float64 `yaml:"expert_memory"`
	ExpertMemoryFP8 float64 `yaml:"expert_memory_fp8"`
	ExpertMemoryFP4 float64 `yaml:"expert_memory_fp4"`
}

// MostBandwidth is the largest fraction of the bandwidth of a data sheet that kernels reach: of
// those measured alone that read more than caches hold, no kernel is above it by more than its
// error.
const MostBandwidth = 0.95

// applied returns the constants as the engine has them.
func (s *Served) applied(constants *hardware.Constants) *hardware.Constants {
	c := *constants
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

// expert returns the factor on the efficiency of routed experts stored as d, and the fraction of
// the bandwidth at which they stream in; 0 where no server of the format was measured.
func (s *Served) expert(d hardware.DType) (compute, memory float64) {
	switch d {
	case hardware.FP8, hardware.FP8Block:
		return or1(s.ExpertsFP8), s.ExpertMemoryFP8
	case hardware.FP4, hardware.MXFP4:
		return or1(s.ExpertsFP4), s.ExpertMemoryFP4
	case hardware.BF16:
		return or1(s.Experts), s.ExpertMemory
	}
	return 1, 0
}

// Level is how the kernels of some versions of an engine, or of a version on some accelerators,
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
