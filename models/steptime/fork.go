package steptime

import (
	"maps"

	"github.com/llmsim/llmsim/sim"
)

// Fork returns another clock with the same times, which another goroutine may use. Outside of c
// also reports the steps of its forks.
func (c *Clock) Fork() *Clock {
	fork := c.Aside()
	c.forks = append(c.forks, fork)
	return fork
}

// Aside returns another clock with the same times, for steps that are asked for and do not run:
// Outside of c does not report them.
func (c *Clock) Aside() *Clock {
	aside := *c
	aside.forget()
	return &aside
}

// forget drops all that c keeps of the steps so far.
func (c *Clock) forget() {
	c.byTokens = memo{fill: totalOf(func(ops []Operator, n int) []Operator {
		return c.tokenOperators(ops, n, 0)
	})}
	c.byRouted = memo{fill: totalOf(func(ops []Operator, n int) []Operator {
		return c.tokenOperators(ops, 0, n)
	})}
	c.byExchanged, c.byRows = memo{fill: totalOf(c.allToAll)}, memo{fill: totalOf(c.headOperators)}
	c.byPrompt = memo{fill: func(tokens int) sim.Time {
		return c.chunksAttention([]sim.Chunk{{New: tokens}})
	}}
	c.scheduling = memo{fill: func(sequences int) sim.Time {
		return c.host(c.hostWork(sequences))
	}}
	c.serial = memo{fill: func(sequences int) sim.Time { return c.host(c.wait(sequences)) }}
	c.forms, c.verified, c.different, c.outside, c.forks = nil, nil, nil, outside{}, nil
	c.unsplit = nil
}

// allOutside returns what c and its forks noted.
func (c *Clock) allOutside() outside {
	all := maps.Clone(c.outside)
	for _, fork := range c.forks {
		for key, e := range fork.allOutside() {
			all.note(key[0], key[1], e.least)
			all.note(key[0], key[1], e.most)
		}
	}
	return all
}
