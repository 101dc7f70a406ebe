package memory

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// liftable counts the leading stored blocks of a text, up to limit, as far as the first lower tier
// has room for the blocks that are not on the accelerator. low is the number of these blocks that
// are below the first lower tier; it is at most most.
func (t *runTree) liftable(text []sim.Segment, limit, most int64) (blocks, low int64) {
	var at content.Cursor
	room := t.tiers[1].room()
	for number := int32(0); blocks < limit; {
		n := int64(0)
		if number, n, at = t.find(number, at, text, limit-blocks); n == 0 {
			break
		}
		tier := t.nodes[number].tier
		if tier > 1 {
			n = min(n, most-low)
		}
		if tier > 0 {
			if n = min(n, room); n <= 0 {
				break
			}
			room -= n
		}
		if tier > 1 {
			low += n
		}
		blocks += n
		if n < t.nodes[number].blocks {
			break // the text differs from here on, or there is no more room
		}
	}
	return blocks, low
}

// storeInHost stores the leading blocks of a text in the first lower tier, as far as it has room,
// beside the blocks that are stored already. Blocks in tiers below come up to it.
func (t *runTree) storeInHost(text []sim.Segment, limit int64) {
	var p path
	low := int64(0) // blocks of lower tiers that nobody uses
	for p.blocks < limit {
		number, n, after := t.find(p.leaf, p.at, text, limit-p.blocks)
		if n == 0 {
			break
		}
		if n < t.nodes[number].blocks {
			number = t.split(number, n)
		}
		if of := &t.nodes[number]; of.tier > 0 {
			low += n
		}
		t.hold(number)
		p = path{number, p.blocks + n, after}
	}
	held := p.leaf
	free := func() int64 { return t.tiers[1].room() - t.tiers[1].unused - low }
	want := limit - p.blocks
	if short := want - free(); short > 0 {
		t.evict(1, min(short, t.tiers[1].unused))
	}
	if free() >= 0 {
		t.store(&p, text, min(want, free(), int64(p.at.Left(text)/t.block)))
		for number := p.leaf; number != held; number = t.nodes[number].parent {
			t.nodes[number].tier = 1
		}
		for number := held; number != 0; number = t.nodes[number].parent {
			t.nodes[number].tier = min(t.nodes[number].tier, 1)
		}
	}
	t.leave(&p)
	for i := int32(1); int(i) < len(t.tiers); i++ { // what stayed may have lost its place
		t.trim(i)
	}
}
