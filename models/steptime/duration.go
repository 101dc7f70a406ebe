package steptime

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Duration returns the time of step s in the slowest pipeline stage, including the send to the next
// stage.
func (c *Clock) Duration(s *sim.Step) sim.Time {
	if c.cfg.Given == nil {
		if n, context, ok := decoding(s); ok {
			return c.Decode(n, context).At(context)
		} else if len(s.Prefill) == 0 {
			return c.slowdown().time(c.verifyDrafts(s))
		}
	}
	return c.slowdown().time(c.predicted(s))
}

// predicted returns the time of step s without the configured slowdown.
func (c *Clock) predicted(s *sim.Step) sim.Time {
	if c.cfg.Given != nil {
		return c.cfg.Given.duration(s)
	}
	if n, context, ok := decoding(s); ok {
		return c.decode(n, context).At(context)
	}
	if len(s.Prefill) == 0 {
		return c.verifyDrafts(s)
	}
	l := c.busiest(s)
	t := c.stage.unattended(l) + c.stage.attention.prefill(s)
	if s.Decodes > 0 {
		t += c.decodeAttention(s)
	}
	t -= c.stage.overlapped(t, l.tokens)
	t = c.cfg.Factors.served(t, s)
	t += c.images.encode(s) + c.stage.adapterTime(l.tokens, l.sequences)
	long := s.Context > c.host.captured(s.Decodes)
	return max(1, max(t, c.host.floor(l.tokens, l.sequences, len(s.Prefill) > 0, long))+
		c.host.serial.at(l.sequences))
}

// decoding reports whether s has one row for each sequence, for how many, and the context they
// attend to. To kernels and captured graphs one token of a prompt after others that are stored is a
// row like decoding sequences: so a request goes on that comes from a prefill replica or from host
// memory, and so a static batch feeds what prompts are longer than the shortest.
func decoding(s *sim.Step) (n int, context int64, ok bool) {
	n, context = s.Decodes, s.Context
	for i := range s.Prefill {
		if c := &s.Prefill[i]; c.Rows() > 1 || c.Cached == 0 {
			return 0, 0, false
		}
		n++
		context += int64(s.Prefill[i].Cached) + 1
	}
	return n, context, s.DecodeTokens == s.Decodes
}

// Decode returns the form of a step in which n sequences decode one token each.
func (c *Clock) Decode(n int, context int64) sim.Affine {
	a := c.decode(n, context)
	if f := c.slowdown(); f.active() {
		return f.form(a, context)
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
		f.recordOutside(c.stage.tables, n, context)
	}
	return formAt(f.step, context)
}

// recordOutside notes contexts to which tables of decode attention do not reach: the formula is the
// first segment then, and the last.
func (f *form) recordOutside(tables *lookup, n int, context int64) {
	last := len(f.attention) - 1
	if context <= f.attention[0].through || context > f.attention[last-1].through {
		tables.record("decode attention", contextTokens,
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
	f := form{attention: c.stage.attention.form(n)}
	f.measured = c.cfg.Operators != nil && len(f.attention) > 2
	each := c.perRank(n)
	rest := c.stage.unattended(load{tokens: each, rows: each, routed: n}) +
		c.stage.adapterTime(each, each)
	floor, serial := c.host.floor(each, each, false, false), c.host.serial.at(each)
	captured, loaded := c.host.captured(n), c.cfg.Factors.loaded(n)
	for _, s := range f.attention {
		s.base = loaded.time(s.base + rest)
		s.slope = perToken(loaded.time(sim.Time(s.slope)))
		if s.through > captured {
			graphs := s
			graphs.through = captured
			f.step = appendAbove(f.step, graphs, floor, serial)
			floor, captured = c.host.floor(each, each, false, true), math.MaxInt64
		}
		f.step = appendAbove(f.step, s, floor, serial)
	}
	return f
}

// decodeAttention returns the time of the attention of the sequences of s that decode.
func (c *Clock) decodeAttention(s *sim.Step) sim.Time {
	if s.DecodeTokens == s.Decodes {
		f := c.form(s.Decodes)
		if f.measured {
			f.recordOutside(c.stage.tables, s.Decodes, s.Context)
		}
		return formAt(f.attention, s.Context).At(s.Context)
	}
	return c.stage.attention.verify(s)
}

// verification has the times of a step that verifies drafts and computes no prompts, attention left
// out: of the accelerators (rest), of adapters, the host's floor under their sum, and the host's
// time after it (serial). It depends on the numbers of sequences and tokens alone, not on the
// context, so that most steps of a leap share it.
type verification struct {
	sequences, tokens             int      // of all ranks; 0 in a place that is not used yet
	rest, adapters, floor, serial sim.Time // at least 0
}

// verifications is a hash table without chains: each place keeps the last verification whose hash
// falls there. Its size is a power of two.
type verifications [64]verification

// verification returns what a step takes beside attention.
func (c *Clock) verification(sequences, tokens int) *verification {
	if c.verified == nil {
		c.verified = new(verifications)
	}
	v := &c.verified[uint(sequences*5+tokens)%uint(len(c.verified))]
	if v.sequences == sequences && v.tokens == tokens {
		return v
	}
	each, of := c.perRank(tokens), c.perRank(sequences)
	*v = verification{sequences: sequences, tokens: tokens,
		rest:     c.stage.unattended(load{tokens: each, rows: each, routed: tokens}),
		adapters: c.stage.adapterTime(each, of),
		floor:    c.host.floor(each, of, false, false), serial: c.host.serial.at(of)}
	return v
}

// verifyDrafts returns the time of a step without prompts in which sequences have several tokens.
func (c *Clock) verifyDrafts(s *sim.Step) sim.Time {
	v := c.verification(s.Decodes, s.DecodeTokens)
	t := v.rest + c.stage.attention.verify(s)
	if c.cfg.Parallel.TwoBatch {
		t -= c.stage.overlapped(t, c.perRank(s.DecodeTokens))
	}
	t, floor := c.cfg.Factors.loaded(s.Decodes).time(t), v.floor
	if s.Context > c.host.captured(s.Decodes) {
		floor = c.host.floor(c.perRank(s.DecodeTokens), c.perRank(s.Decodes), false, true)
	}
	return max(1, max(t+v.adapters, floor)+v.serial)
}

// form returns a form at a context under the slowdown: exact where a piece
// ends, and not less before.
func (f slowdown) form(a sim.Affine, context int64) sim.Affine {
	end := min(a.Through, pieceEnd(context))
	each := f.time(a.PerToken)
	return sim.Affine{Base: f.time(a.At(end)) - each*sim.Time(end), PerToken: each, Through: end}
}
