package steptime

import "github.com/llmsim/llmsim/sim"

// load is what the busiest data-parallel rank has to do in a step, for which the others wait: with each layer they exchange the
// tokens of routed experts. The router is taken to spread sequences and their contexts evenly, so that it has the nth part of them,
// rounded up. A chunk of a prompt is not divided.
type load struct {
	tokens, rows, sequences int
	// routed is the number of tokens of all ranks.
	routed int
}

// busiest returns the load of s.
func (c *Clock) busiest(s *sim.Step) load {
	tokens, rows, longest := s.DecodeTokens, s.DecodeTokens, 0
	for i := range s.Prefill {
		n := s.Prefill[i].Rows()
		tokens += n
		longest = max(longest, n)
		if s.Prefill[i].Last {
			rows++
		}
	}
	return load{
		tokens: max(c.rank(tokens), longest), rows: c.rank(rows), sequences: c.rank(s.Decodes + len(s.Prefill)),
		routed: tokens,
	}
}

// rank returns how many of n are on the busiest rank.
func (c *Clock) rank(n int) int { return (n + c.ranks - 1) / c.ranks }

// onRank returns the part of t, which all n sequences take together, that those of the busiest rank do.
func (c *Clock) onRank(t sim.Time, n int) sim.Time {
	if c.ranks == 1 {
		return t
	}
	return (t*sim.Time(c.rank(n)) + sim.Time(n) - 1) / sim.Time(n)
}

// routed returns the time of the routed experts of so many tokens.
func (c *Clock) routed(tokens int) sim.Time {
	if c.cfg.Model.Experts() == nil {
		return 0
	}
	return c.byRouted.at(tokens)
}
