package steptime

import "github.com/llmsim/llmsim/sim"

// verification is what a step that verifies drafts, and has no prompts, takes beside attention: the
// time of the accelerators, that of adapters, and what the host adds. It does not depend on the
// context, so that it is the same in most steps of a leap.
type verification struct {
	sequences, tokens             int
	rest, adapters, floor, serial sim.Time
}

// verifications is a number of places that is a power of two. Each keeps the last verification that
// falls there.
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
	each, of := c.rank(tokens), c.rank(sequences)
	*v = verification{sequences: sequences, tokens: tokens,
		rest:     c.byTokens.at(each) + c.byRows.at(each) + c.routed(tokens),
		adapters: c.adapt(each, of), floor: c.hostFloor(each, of, false), serial: c.serial.at(of)}
	return v
}

// verifyDrafts returns the time of a step without prompts in which sequences have several tokens.
func (c *Clock) verifyDrafts(s *sim.Step) sim.Time {
	v := c.verification(s.Decodes, s.DecodeTokens)
	t := v.rest + c.decodeKernels
	for i := range c.attention {
		t += c.verify(&c.attention[i], s.Decodes, s.DecodeTokens, s.Context)
	}
	if c.cfg.Parallel.TwoBatch {
		t -= c.overlapped(t, c.rank(s.DecodeTokens))
	}
	return max(1, max(t+v.adapters, v.floor)+v.serial)
}
