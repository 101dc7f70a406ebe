package steptime

import (
	"github.com/llmsim/llmsim/hardware"
)

// Factors multiply the times of parts of a step, as they were fitted to a deployment. 0 means 1.
type Factors struct {
	// Prompts is the factor on the time of what grows with the tokens of a step: arithmetic, the
	// attention of prompts, and reading and writing activations.
	Prompts float64
	// Memory is the factor on the time of reading weights, and Cache on the time of reading the KV
	// cache to decode.
	Memory, Cache float64
	// Exchanges is the factor on the time in which accelerators exchange data.
	Exchanges float64
	// Step is the factor on the host's time for each step, Sequence on its time for each sequence
	// of a step, and Request on its time for each request outside of steps.
	Step, Sequence, Request float64
	// Mixed is the factor on the time of the accelerators in steps that compute long prompts beside
	// very many decoding sequences, as in a saturated server; of shorter prompts, or beside fewer
	// sequences, a part of it applies. Accelerators that compute without a pause run into their
	// limit of power.
	Mixed float64
}

// on returns the constants of an accelerator under the factors.
func (f *Factors) on(constants *hardware.Constants) *hardware.Constants {
	c := *constants
	c.Attention.PrefillCompute /= or1(f.Prompts)
	return &c
}
