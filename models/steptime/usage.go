package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Usage returns what step s asks of an accelerator, as hardware.PowerLaw counts it. Of a kernel in
// which arithmetic and memory traffic overlap, arithmetic binds for the part of the time that it
// has in the sum of their fourth powers, as kernels measured apart overlap.
func (c *Clock) Usage(s *sim.Step) hardware.Usage {
	if c.cfg.Given != nil {
		return c.givenUsage(s)
	}
	var u hardware.Usage
	var step, computing float64
	for _, o := range c.Breakdown(s) {
		t := o.Time.Seconds()
		step += t
		u.Arithmetic += o.FLOPs
		if o.Bound != Network {
			u.Bandwidth += o.Bytes
		}
		if t > 0 {
			computing += float64(t * math.Pow(min(1, o.Computing.Seconds()/t),
				hardware.KernelOverlap))
		}
	}
	if step == 0 {
		return hardware.Usage{}
	}
	// The last operator is shortened by what the others were rounded up, so that they add up to the
	// step. Its time may then be negative, and the others compute for longer than the step takes.
	return hardware.Usage{Bandwidth: u.Bandwidth / float64(step*c.cfg.Accelerator.Bandwidth),
		Computing: min(1, computing/step), Arithmetic: u.Arithmetic / float64(step*c.operand.peak)}
}

// givenUsage returns the usage of a step whose time is given. What binds the step is not known.
func (c *Clock) givenUsage(s *sim.Step) hardware.Usage {
	work, step := c.Work(s), c.Duration(s).Seconds()
	flops, bandwidth := c.Peaks()
	return hardware.Usage{Bandwidth: work.Bytes / float64(step*bandwidth),
		Arithmetic: work.FLOPs / float64(step*flops)}
}
