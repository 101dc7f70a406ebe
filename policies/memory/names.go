package memory

import (
	"math/bits"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// names finds nodes by the names of their first blocks. It is a hash table with linear probing
// (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithms L and R). Names are
// hashes already, and not 0. Only set and remove change it.
type names struct {
	// slots are a power of two, or nil before the first name; at least a quarter are free. Between
	// the home of a name and its slot, counted around the end, no slot is free.
	slots []named
	n     int // names, each in one slot
}

// named is a slot of the table; it is free where the name is 0.
type named struct {
	name   uint64
	number int32 // of the node, an index of runTree.nodes
}

// home returns where a name belongs if no other is there.
func (t *names) home(name uint64) int {
	return int(name >> (64 - bits.TrailingZeros(uint(len(t.slots)))))
}

// slot returns where a name is, or the free slot where it is missing. The table has slots.
func (t *names) slot(name uint64) int {
	i := t.home(name)
	for t.slots[i].name != name && t.slots[i].name != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

// find returns the number of the node with a name.
func (t *names) find(name uint64) (number int32, ok bool) {
	if t.n == 0 {
		return 0, false
	}
	s := &t.slots[t.slot(name)]
	return s.number, s.name != 0
}

// set gives a name to a node, and takes it from any other.
func (t *names) set(name uint64, number int32) {
	if 4*(t.n+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]named, max(8, 2*len(old)))
		for _, s := range old {
			if s.name != 0 {
				t.slots[t.slot(s.name)] = s
			}
		}
	}
	s := &t.slots[t.slot(name)]
	if s.name == 0 {
		t.n++
	}
	*s = named{name, number}
}

// remove forgets a name, if it is there. Later names move into the gap, so that no name is cut off
// from its home.
func (t *names) remove(name uint64) {
	if t.n == 0 {
		return
	}
	free := t.slot(name)
	if t.slots[free].name == 0 {
		return
	}
	t.n--
	last := len(t.slots) - 1
	for i := (free + 1) & last; t.slots[i].name != 0; i = (i + 1) & last {
		if (i-t.home(t.slots[i].name))&last >= (i-free)&last {
			t.slots[free], free = t.slots[i], i
		}
	}
	t.slots[free] = named{}
}

// Event says that a full block was stored, or dropped from all tiers, as engines publish it (vLLM
// v0.15: vllm/distributed/kv_events.py, BlockStored and BlockRemoved).
type Event struct {
	// Name identifies the tokens of the block and all before it, see Names.
	Name   uint64
	Stored bool
}

// journal records events from the first call of Events on.
type journal struct {
	block  int     // tokens of a block, at least 1
	on     bool    // Events was called
	events []Event // since the last call of Events; empty unless on
}

// record records that the blocks of a passage that begin after the given number of its tokens were
// stored or dropped. An empty passage makes no events: no request can ask for its blocks.
func (j *journal) record(p *passage, tokens int, blocks int64, stored bool) {
	if !j.on || len(p.list) == 0 {
		return
	}
	at := p.seek(tokens)
	for range blocks {
		j.events = append(j.events, Event{at.Name(p.list, j.block), stored})
		at.Skip(p.list, j.block)
	}
}

// Names appends the names of the full blocks of a text to a list, in order.
func Names(list []uint64, text []sim.Segment, block int) []uint64 {
	return content.Names(list, text, block)
}
