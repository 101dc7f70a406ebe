package memory

import (
	"iter"

	"github.com/llmsim/llmsim/sim"
)

// Events yields what happened since the last call. The first call yields all that is stored. Of the
// blocks that were dropped at once, the order does not matter.
func (p *PrefixCache) Events() iter.Seq[Event] {
	t := &p.tree
	p.free += t.expire()
	if t.journal == nil {
		t.journal = &journal{}
		for i := range t.nodes {
			t.note(&t.nodes[i], 0, t.nodes[i].blocks, true)
		}
	}
	return func(yield func(Event) bool) {
		t.journal.each(t.block, yield)
		*t.journal = (*t.journal)[:0]
	}
}

// Names yields the names of the full blocks of a text, in order.
func Names(text []sim.Segment, block int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		var at cursor
		for {
			name, n := at.run(text, block)
			if n == 0 || !yield(name) {
				return
			}
			at.skip(text, block)
		}
	}
}
