package steptime

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Decode returns the form of a step in which n sequences decode one token each.
func (c *Clock) Decode(n int, context int64) sim.Affine {
	a := c.decode(n, context)
	if c.slowing() {
		return c.slowedForm(a, context)
	}
	return a
}

// decode is Decode without the configured slowdown.
func (c *Clock) decode(n int, context int64) sim.Affine {
	if c.cfg.Given != nil {
		return c.cfg.Given.decode(n)
	}
	f := c.form(n)
	if f.measured {
		f.reach(c, n, context)
	}
	return formAt(f.step, context)
}

// reach notes contexts to which tables of decode attention do not reach: the formula is the first
// segment then, and the last.
func (f *form) reach(c *Clock, n int, context int64) {
	last := len(f.attention) - 1
	if context <= f.attention[0].through || context > f.attention[last-1].through {
		c.outside.note("decode attention", contextTokens,
			math.Round(float64(context)/float64(n)))
	}
}

// form returns the form for n sequences.
func (c *Clock) form(n int) *form {
	if n < len(c.forms) && c.forms[n] != nil {
		return c.forms[n]
	}
	if missing := n + 1 - len(c.forms); missing > 0 {
		c.forms = append(c.forms, make([]*form, missing)...)
	}
	f := c.newForm(n)
	c.forms[n] = &f
	return &f
}

// newForm builds the form for n sequences: attention and the rest of the accelerators' time, and
// the floor of the host under it.
func (c *Clock) newForm(n int) form {
	if n == 0 {
		return form{step: []segment{{base: 1, through: math.MaxInt64}}}
	}
	f := form{attention: c.attentionForm(n)}
	f.measured = c.tables != nil && len(f.attention) > 2
	each := c.rank(n)
	rest := c.byTokens.at(each) + c.byRows.at(each) + c.routed(n) + c.adapt(each, each)
	floor, serial := c.hostFloor(each, each, false), c.serial.at(each)
	for _, s := range f.attention {
		s.base += rest
		f.step = appendAbove(f.step, s, floor, serial)
	}
	return f
}

// attentionForm returns the time that n sequences need to attend to a total context. It bends where
// windows are full, and at the points of measured tables.
func (c *Clock) attentionForm(n int) []segment {
	base, slope := c.decodeKernels, perToken(0)
	var bends []bend
	for i := range c.attention {
		a := &c.attention[i]
		perContext := onRank(c, a.perContext, n)
		base += a.perQuery * sim.Time(c.rank(n))
		slope += perContext
		if at := a.BendsAt(n); at > 0 {
			bends = append(bends, bend{at, perContext})
		}
	}
	if len(bends) == 0 {
		return c.tables.decode(c, n, segment{base, slope, math.MaxInt64})
	}
	slices.SortFunc(bends, func(a, b bend) int { return cmp.Compare(a.at, b.at) })
	var segments []segment
	for _, b := range bends {
		segments = append(segments, segment{base, slope, b.at})
		base, slope = base+b.perContext.times(b.at), slope-b.perContext
	}
	return append(segments, segment{base, slope, math.MaxInt64})
}

// bend is a total context from which on a kind of attention costs no more, and what a token cost
// before.
type bend struct {
	at         int64
	perContext perToken
}

// appendAbove appends the larger of a floor and a segment, plus serial.
func appendAbove(segments []segment, s segment, floor, serial sim.Time) []segment {
	crossing := s.reaches(floor)
	if crossing >= 0 {
		segments = append(segments, segment{base: max(1, floor+serial), through: crossing})
	}
	if crossing < s.through {
		s.base += serial
		segments = append(segments, s)
	}
	return segments
}
