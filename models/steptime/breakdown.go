package steptime

import "github.com/llmsim/llmsim/sim"

// Breakdown returns the operators of step s, in the slowest pipeline stage and on one of its accelerators. Their times sum to
// Duration.
func (c *Clock) Breakdown(s *sim.Step) []Operator {
	rows, sequences, cached, longest := s.DecodeTokens, s.Decodes+len(s.Prefill), 0, 0
	for i := range s.Prefill {
		cached += s.Prefill[i].Cached
		longest = max(longest, s.Prefill[i].Rows()+s.Prefill[i].Cached)
		if s.Prefill[i].Last {
			rows++
		}
	}
	ops := c.tokenOperators(nil, s.Tokens())
	for i := range c.attention {
		if len(s.Prefill) > 0 {
			ops = append(ops, c.prefillOperator(&c.attention[i], s))
		}
		if s.Decodes > 0 {
			ops = append(ops, c.decodeOperator(&c.attention[i], s))
		}
	}
	if tail := c.tailPerToken * sim.Time(longest); tail > 0 {
		ops = append(ops, Operator{Name: "attention_prefill_tail", Time: tail, Bound: Compute})
	}
	if cached > 0 && c.expand > 0 {
		ops = append(ops, Operator{Name: "kv_b_cached", Time: c.expand * sim.Time(cached), Bound: Compute})
	}
	ops = c.headOperators(ops, rows)
	busy := total(ops)
	if wait := c.hostFloor(s.Tokens(), sequences) - busy; wait > 0 && sequences > 0 {
		ops = append(ops, Operator{Name: "launch", Time: wait, Bound: Host})
	}
	if rest := c.Duration(s) - total(ops); rest > 0 {
		ops = append(ops, Operator{Name: "host", Time: rest, Bound: Host})
	}
	return ops
}
