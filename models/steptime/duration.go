package steptime

import "github.com/llmsim/llmsim/sim"

// Duration returns the time of step s in the slowest pipeline stage, including the send to the next
// stage.
func (c *Clock) Duration(s *sim.Step) sim.Time {
	if c.cfg.Given == nil {
		if n, context, ok := decoding(s); ok {
			return c.Decode(n, context).At(context)
		} else if len(s.Prefill) == 0 {
			return c.slowed(c.verifyDrafts(s))
		}
	}
	return c.slowed(c.predicted(s))
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
	t := c.byTokens.at(l.tokens) + c.byRows.at(l.rows) + c.routed(l.routed) + c.prefillAttention(s)
	if s.Decodes > 0 {
		t += c.decodeAttention(s)
	}
	t -= c.overlapped(t, l.tokens)
	t = c.mixed(t, s)
	t += c.encode(s) + c.adapt(l.tokens, l.sequences)
	return max(1, max(t, c.hostFloor(l.tokens, l.sequences, len(s.Prefill) > 0))+
		c.serial.at(l.sequences))
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

// Warnings returns facts about the basis of the predictions that a reader should know.
func (c *Clock) Warnings() []string { return c.warnings }
