package steptime

import (
	"math"
	"math/bits"

	"github.com/llmsim/llmsim/sim"
)

// slowdownUnit is what factors on step times are counted in, so that they multiply whole
// ticks the same on every machine.
const slowdownUnit = 1_000_000

// slowed returns a time under the slowdown that is configured.
func (c *Clock) slowed(t sim.Time) sim.Time {
	switch {
	case !c.slowing():
		return t
	case t < 0:
		return -c.slowed(-t)
	}
	high, low := bits.Mul64(uint64(t), uint64(math.Round(c.cfg.Slowdown*slowdownUnit)))
	if high >= slowdownUnit {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, slowdownUnit)
	return sim.Time(min(quotient, math.MaxInt64))
}

// slowedForm returns a form at a context under the slowdown that is configured: exact where a piece
// ends, and not less before.
func (c *Clock) slowedForm(a sim.Affine, context int64) sim.Affine {
	end := min(a.Through, pieceEnd(context))
	each := c.slowed(a.PerToken)
	return sim.Affine{Base: c.slowed(a.At(end)) - each*sim.Time(end), PerToken: each, Through: end}
}
