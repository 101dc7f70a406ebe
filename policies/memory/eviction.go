package memory

import (
	"fmt"
	"iter"

	"github.com/llmsim/llmsim/sim"
)

// evict frees at least the given number of units in a tier, which must hold that many unused, and
// returns the number of freed units. Only whole blocks are freed, so it may be more. Blocks move to
// the next tier, or are dropped from the last. In memory of several tiers a block is one unit.
func (t *runTree) evict(from int32, units int64) (made int64) {
	for made < units {
		number := t.first(from)
		unit := t.nodes[number].unit
		k := min((units-made+unit-1)/unit, t.nodes[number].blocks)
		if to := t.next(number, from); to == 0 {
			t.forget(number, k)
		} else {
			k = min(k, t.tiers[to].room())
			if t.order.ranks() { // one by one, since each may go before those below
				k = min(k, max(1, t.tiers[to].room()-t.tiers[to].unused))
			}
			t.demote(number, k, to)
		}
		made += k * unit
	}
	return made
}

// trim evicts what a lower tier holds beyond its room.
func (t *runTree) trim(tier int32) {
	if excess := t.tiers[tier].unused - max(0, t.tiers[tier].room()); excess > 0 {
		t.evict(tier, excess)
	}
}

// forget drops the last blocks of an unused node.
func (t *runTree) forget(number int32, blocks int64) {
	t.changes++
	n := &t.nodes[number]
	n.blocks -= blocks
	t.journal.record(&n.passage, n.offset+int(n.blocks)*t.block, blocks, false)
	t.tiers[n.tier].unused -= blocks * n.unit
	if n.blocks > 0 {
		return
	}
	t.unlink(number)
	t.remove(number)
}

// remove gives up the number of a node that is in no ring.
func (t *runTree) remove(number int32) {
	n := &t.nodes[number]
	if n.name != 0 {
		t.byName.remove(n.name)
		t.nodes[n.parent].children--
		t.spent.put(n.passage)
	}
	*n = runNode{}
	t.spare = append(t.spare, number)
}

// demote moves the last blocks of an unused node to the newest end of a lower tier.
func (t *runTree) demote(number int32, blocks int64, to int32) {
	if room := t.tiers[to].room() - t.tiers[to].unused; room < blocks {
		t.evict(to, blocks-room)
	}
	n, newest := &t.nodes[number], t.nodes[to].older
	joins := t.order.merges() && newest != to && t.continues(number, newest)
	if rest := n.blocks - blocks; rest > 0 && joins {
		t.tiers[n.tier].unused -= blocks
		t.tiers[to].unused += blocks
		t.shift(number, newest, rest)
		return
	} else if rest > 0 {
		t.split(number, rest)
	}
	t.unlink(number)
	t.nodes[number].tier = to
	if joins {
		t.unlink(newest)
		t.merge(number, newest)
		number = newest
	}
	t.link(number)
}

// continues reports whether the node next is the only continuation of a node, so that both could
// be one node. Blocks without names continue each other too.
func (t *runTree) continues(number, next int32) bool {
	n, m := &t.nodes[number], &t.nodes[next]
	if n.name == 0 || m.name == 0 {
		return n.name == m.name
	}
	return m.parent == number && n.children == 1
}

// merge makes a node and the next one, which are in no ring, into one. It has the number of the
// next one, which children know.
func (t *runTree) merge(number, next int32) {
	t.shift(number, next, 0)
	t.nodes[next].parent = t.nodes[number].parent
	t.spent.put(t.nodes[number].passage)
	t.nodes[number] = runNode{}
	t.spare = append(t.spare, number)
}

// shift moves the blocks of a node after the first rest to the beginning of the next node.
func (t *runTree) shift(number, next int32, rest int64) {
	t.changes++
	n, m := &t.nodes[number], &t.nodes[next]
	if n.name != 0 {
		at := n.seek(n.offset + int(rest)*t.block)
		if m.offset == 0 { // where n may have had more of the segment before
			i, last := at.Segment, at.Offset+int(n.blocks-rest)*t.block
			for ; last > n.list[i].Tokens; i++ {
				last -= n.list[i].Tokens
			}
			n.list[i].Tokens = last
		}
		t.byName.remove(m.name)
		m.name = at.Name(n.list, t.block)
		t.byName.set(m.name, next)
		var lower, spent passage
		n.passage, lower = n.cut(at.Segment, at.Offset > 0, t.spent.take(len(n.list)-at.Segment))
		at.Segment += n.segment
		m.passage, spent = lower.join(m.segment-at.Segment, m.passage)
		t.spent.put(spent)
		m.segment, m.offset = at.Segment, at.Offset
	}
	m.blocks += n.blocks - rest
	n.blocks = rest
}

// pins are texts that never leave the accelerator's memory once it has them, such as system prompts
// (LMCache's pin, docs.lmcache.ai, KV cache controller; Mooncake's hard pin, ReplicateConfig).
// newPins alone adds to them.
type pins struct {
	list  []*pin          // in the order in which they were given, so that release is reproducible
	texts map[uint64]*pin // the same pins by the ID of the segment
	// reserved is the sum of pin.blocks, less than the blocks of the memory. It is set aside from
	// the start, whether or not the texts are there.
	reserved int64
}

// pin is the text of one segment. Its full blocks are in use from when they are first computed, as
// if a sequence that never ends had them.
type pin struct {
	blocks int64 // full blocks of the text, at least 1
	// path holds these blocks from pinText to release, and is empty otherwise.
	path path
}

// newPins returns the pins of segments in a memory of the given number of blocks, where some must
// be left.
func newPins(segments iter.Seq[sim.Segment], block, capacity int64) (pins, error) {
	x := pins{texts: map[uint64]*pin{}}
	for s := range segments {
		if blocks := int64(s.Tokens) / block; blocks > 0 && x.texts[s.ID] == nil {
			at := &pin{blocks: blocks}
			x.list, x.texts[s.ID] = append(x.list, at), at
			x.reserved += blocks
		}
		if x.reserved >= capacity {
			return pins{}, fmt.Errorf("pinned texts take %d blocks of %d tokens and more, and "+
				"there are %d", x.reserved, block, capacity)
		}
	}
	return x, nil
}

// pinText pins what a text begins with, if it is to be pinned and a sequence has all of it in its
// blocks.
func (x *pins) pinText(t *runTree, text []sim.Segment, blocks int64) {
	if x.reserved == 0 || len(text) == 0 {
		return
	}
	at := x.texts[text[0].ID]
	if at != nil && at.path.leaf == 0 && blocks >= at.blocks {
		t.share(&at.path, text, at.blocks)
	}
}

// release lets all texts go.
func (x *pins) release(t *runTree) {
	for _, at := range x.list {
		t.leave(&at.path)
	}
}
