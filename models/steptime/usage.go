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
		u.Bandwidth += o.Bytes()
		if t > 0 {
			computing += float64(t * math.Pow(min(1, o.Computing.Seconds()/t),
				hardware.KernelOverlap))
		}
	}
	if step == 0 {
		return hardware.Usage{}
	}
	// An operator is shortened by what the others were rounded up, so that they add up to the step:
	// the others may compute for longer than the step takes, by some ticks.
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

// Work returns the work of step s. Up to WorkThrough it is affine in the context, so the work of a
// stretch of decode steps is their number times the work of one step at their mean context.
func (c *Clock) Work(s *sim.Step) Work {
	f := &c.work
	tokens, rows, cached := s.DecodeTokens, s.DecodeTokens, 0
	var w Work
	if c.images.count > 0 {
		w.FLOPs = float64(float64(c.encoded(s)) * c.images.flops)
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
	for i := range f.experts {
		w.Bytes += float64(f.expertBytes[i] * f.experts[i].Matrices(f.experts[i].Active*tokens))
	}
	return w
}

// WorkThrough returns the largest total context up to which the work of n decoding sequences is
// affine in their context, from the given context on. It bends where sliding windows are full.
func (c *Clock) WorkThrough(n int, context int64) int64 {
	through := int64(math.MaxInt64)
	for i := range c.work.attention {
		if at := c.work.attention[i].BendsAt(n); at >= context {
			through = min(through, at)
		}
	}
	return through
}

// Peaks returns what the accelerators of the replica together can compute, in FLOP/s in the number
// format of the matrix products, and move to and from memory, in B/s.
func (c *Clock) Peaks() (flops, bandwidth float64) {
	n := float64(c.cfg.Parallel.GPUs())
	return n * c.operand.peak, n * c.cfg.Accelerator.Bandwidth
}
