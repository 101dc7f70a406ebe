package steptime

import "github.com/llmsim/llmsim/sim"

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
