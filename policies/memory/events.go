package memory

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Events appends what happened since the last call to a list. The first call appends all that is
// stored. Of the blocks that were dropped at once, the order does not matter.
func (p *PrefixCache) Events(list []Event) []Event {
	t := &p.tree
	p.expire()
	if t.journal == nil {
		t.journal = &[]Event{}
		for i := range t.nodes {
			t.note(&t.nodes[i], 0, t.nodes[i].blocks, true)
		}
	}
	list = append(list, *t.journal...)
	*t.journal = (*t.journal)[:0]
	return list
}

// Names appends the names of the full blocks of a text to a list, in order.
func Names(list []uint64, text []sim.Segment, block int) []uint64 {
	return content.Names(list, text, block)
}
