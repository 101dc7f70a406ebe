package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Usage returns what step s asks of an accelerator, as hardware.PowerLaw counts it. Of a kernel in
// which arithmetic and memory traffic overlap, arithmetic binds for the part of the time that it
// has in the sum of their fourth powers, as kernels measured apart overlap. The law was fitted
// without what attention moves beside the cache that it reads.
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
		u.Bandwidth += o.Bytes() - o.Beside
		if t > 0 {
			computing += float64(t * math.Pow(min(1, o.Computing.Seconds()/t),
				hardware.KernelOverlap))
		}
	}
	if step == 0 {
		return hardware.Usage{}
	}
	_, bandwidth, _ := c.Attainable()
	bandwidth /= float64(c.cfg.Parallel.GPUs())
	// An operator is shortened by what the others were rounded up, so that they add up to the step:
	// the others may compute for longer than the step takes, by some ticks.
	return hardware.Usage{Bandwidth: u.Bandwidth / float64(step*bandwidth),
		Computing:  min(1, computing/step),
		Arithmetic: u.Arithmetic / float64(step*c.stage.products.operand.peak)}
}

// givenUsage returns the usage of a step whose time is given. What binds the step is not known.
func (c *Clock) givenUsage(s *sim.Step) hardware.Usage {
	work, step := c.Work(s), c.Duration(s).Seconds()
	flops, bandwidth := c.Peaks()
	return hardware.Usage{Bandwidth: work.Bytes / float64(step*bandwidth),
		Arithmetic: work.FLOPs / float64(step*flops)}
}

// Work returns the work of step s.
func (c *Clock) Work(s *sim.Step) Work {
	f := &c.work
	tokens, rows, cached := s.DecodeTokens, s.DecodeTokens, 0
	var w Work
	if c.images.count > 0 {
		w.FLOPs = float64(float64(c.images.encoded(s)) * c.images.flops)
	}
	for i := range s.Prefill {
		chunk := &s.Prefill[i]
		tokens += chunk.New
		cached += chunk.Cached
		if chunk.Last {
			rows++
		}
		for j := range f.attention {
			a := &f.attention[j]
			of := a.Prefill(chunk.New, chunk.Cached)
			w.add(float64(a.Count), of.FLOPs, of.KVRead)
		}
	}
	for j := range f.attention {
		a := &f.attention[j]
		of := a.Decode(s.Decodes, s.DecodeTokens, s.Context)
		w.add(float64(a.Count), of.FLOPs, of.KVRead)
	}
	w.FLOPs += float64(float64(tokens)*f.tokenFLOPs) + float64(float64(rows)*f.rowFLOPs) +
		float64(float64(cached)*f.expandFLOPs)
	w.Bytes += f.weightBytes
	if rows > 0 {
		w.Bytes += f.headBytes
	}
	w.Bytes += f.expertsRead(tokens)
	return w
}

// Attainable returns the rates that steps cannot exceed: the Peaks, or more where a factor below 1
// (Config.Factors, Config.Slowdown) makes the clock compute or read faster than the data sheet. So
// the Work of steps, divided by their time, is a share of these rates in [0, 1]. known is false
// where the step times are given: nothing says on which hardware, or how fast, they were computed.
func (c *Clock) Attainable() (flops, bandwidth float64, known bool) {
	flops, bandwidth = c.Peaks()
	f, steps := &c.cfg.Factors, 1.0
	for _, factor := range []float64{or1(f.Mixed), or1(c.cfg.Slowdown),
		math.Pow(or1(f.Load), mostDecades)} {
		steps *= min(1, factor)
	}
	return flops / (steps * min(1, or1(f.Prompts))),
		bandwidth / (steps * min(1, or1(f.Memory), or1(f.Cache))), c.cfg.Given == nil
}

// Peaks returns what the accelerators of the replica together can compute, in FLOP/s in the number
// format of the matrix products, and move to and from memory, in B/s.
func (c *Clock) Peaks() (flops, bandwidth float64) {
	n := float64(c.cfg.Parallel.GPUs())
	return n * c.stage.products.operand.peak, n * c.cfg.Accelerator.Bandwidth
}
