package steptime

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// load is what the busiest data-parallel rank has to do in a step, for which the others wait: with
// each layer they exchange the tokens of routed experts. The router is taken to spread sequences
// and their contexts evenly, so that it has the nth part of them, rounded up. A chunk of a prompt
// is not divided: with one more of them than ranks, some rank has two.
type load struct {
	tokens, rows, sequences int
	// routed is the number of tokens of all ranks.
	routed int
}

// busiest returns the load of s.
func (c *Clock) busiest(s *sim.Step) load {
	tokens, rows := s.DecodeTokens, s.DecodeTokens
	for i := range s.Prefill {
		tokens += s.Prefill[i].Rows()
		if s.Prefill[i].Last {
			rows++
		}
	}
	l := load{tokens: c.rank(tokens), rows: c.rank(rows),
		sequences: c.rank(s.Decodes + len(s.Prefill)), routed: tokens}
	if c.ranks > 1 {
		chunks := make([]int, len(s.Prefill))
		for i := range s.Prefill {
			chunks[i] = s.Prefill[i].Rows()
		}
		l.tokens = max(l.tokens, fullest(chunks, c.ranks))
	}
	return l
}

// fullest returns what the rank with the most of some undivided loads has at least, however they
// are spread: of the n·ranks+1 largest, one rank has n+1, each at least as large as the last (the
// pigeonhole principle). It orders the loads.
func fullest[T int | sim.Time](loads []T, ranks int) T {
	slices.SortFunc(loads, func(a, b T) int { return int(min(max(b-a, -1), 1)) })
	var most T
	for i := 0; i < len(loads); i += ranks {
		most = max(most, T(i/ranks+1)*loads[i])
	}
	return most
}
