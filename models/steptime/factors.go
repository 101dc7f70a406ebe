package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Factors multiply the times of parts of a step, as they were fitted to a deployment. 0 means 1.
type Factors struct {
	// Prompts is the factor on the time of arithmetic: matrix products, and the attention of
	// prompts.
	Prompts float64
	// Memory is the factor on the time of memory traffic.
	Memory float64
	// Exchanges is the factor on the time in which accelerators exchange data.
	Exchanges float64
	// Step is the factor on the host's time for each step, Sequence on its time for each sequence
	// of a step, and Request on its time for each request outside of steps.
	Step, Sequence, Request float64
	// Mixed is the factor on the time of the accelerators in steps that both compute prompts and
	// decode.
	Mixed float64
}

// on returns the constants of an accelerator under the factors.
func (f *Factors) on(constants *hardware.Constants) *hardware.Constants {
	c := *constants
	c.Attention.PrefillCompute /= or1(f.Prompts)
	return &c
}

// mixed returns the time t of the accelerators in step s under the factor on mixed steps.
func (c *Clock) mixed(t sim.Time, s *sim.Step) sim.Time {
	f := or1(c.cfg.Factors.Mixed)
	if f == 1 || s.Decodes == 0 || len(s.Prefill) == 0 {
		return t
	}
	return sim.Time(math.Round(float64(t) * f))
}
