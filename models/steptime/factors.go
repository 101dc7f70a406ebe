package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Factors multiply the times of parts of a step, as they were fitted to a deployment. 0 means 1.
type Factors struct {
	// Prompts is the factor on the time of what grows with the tokens of a step: arithmetic, the
	// attention of prompts, and reading and writing activations.
	Prompts float64
	// Memory is the factor on the time of reading weights, and Cache on that of reading the KV
	// cache to decode.
	Memory, Cache float64
	// Exchanges is the factor on the time in which accelerators exchange data.
	Exchanges float64
	// Step is the factor on the host's time for each step, Sequence on its time for each sequence
	// of a step, and Request on its time for each request outside of steps.
	Step, Sequence, Request float64
	// Mixed is the factor on the time of the accelerators in steps that compute long prompts beside
	// very many decoding sequences, as those of a saturated server do; of shorter prompts, or
	// beside fewer sequences, a part of it applies. Accelerators that compute without a pause run
	// into their limit of power.
	Mixed float64
}

// on returns the constants of an accelerator under the factors.
func (f *Factors) on(constants *hardware.Constants) *hardware.Constants {
	c := *constants
	c.Attention.PrefillCompute /= or1(f.Prompts)
	return &c
}

// activationFactor returns what a factor on memory traffic must be multiplied by for activations:
// they grow with the tokens of prompts, and go with the factor on these.
func (c *Clock) activationFactor() float64 {
	f := &c.cfg.Factors
	return or1(f.Prompts) / or1(f.Memory)
}

// crowd is the number of decoding sequences at which half of the factor on mixed steps applies: it
// is chosen between the 18 that a vLLM 0.23 server on an H100 has at 8 requests/s, where its steps
// take what a lone prompt and a lone batch take, and the 250 it has when it is saturated, where
// they take longer (tables requests_vllm_0.23).
const crowd = 64

// mixed returns the time t of the accelerators in step s under the factor on mixed steps.
func (c *Clock) mixed(t sim.Time, s *sim.Step) sim.Time {
	f := or1(c.cfg.Factors.Mixed)
	if f == 1 || s.Decodes == 0 || len(s.Prefill) == 0 {
		return t
	}
	tokens := 0
	for i := range s.Prefill {
		tokens += s.Prefill[i].New
	}
	share := float64(s.Decodes) / float64(s.Decodes+crowd)
	share *= float64(tokens) / float64(tokens+s.Decodes)
	return sim.Time(math.Round(float64(t) * (1 + (f-1)*share)))
}
