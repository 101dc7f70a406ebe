package memory

import (
	"container/heap"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// ordering says which unused blocks are overwritten first. The zero value is the least recently
// used.
type ordering struct {
	// At most one of frequent, next and ttl is set.

	// frequent keeps blocks that were used more often while they were stored.
	frequent bool
	// next returns when the block with a name is used next, and is nil unless the blocks whose next
	// use is furthest go first (Belady, IBM Systems Journal 5(2), 1966).
	next func(name uint64) int64
	// ttl is the time after its last use at which a block is dropped, 0 for never.
	ttl sim.Time
	now func() sim.Time // the simulated time; nil before the replica starts
	// turns is the number of entries that heaps were given: of equal ranks, the first one goes.
	turns int64
}

// ranks reports whether nodes are in heaps.
func (o *ordering) ranks() bool { return o.frequent || o.next != nil }

// merges reports whether nodes that moved down may become one.
func (o *ordering) merges() bool { return !o.ranks() && o.ttl == 0 }

// time returns the present time where it matters.
func (o *ordering) time() sim.Time {
	if o.ttl == 0 || o.now == nil {
		return 0
	}
	return o.now()
}

// rank returns the rank of a node: those with lower ranks are overwritten first. No node has a
// higher rank than its parent, which is used whenever the node is.
func (o *ordering) rank(n *runNode) int64 {
	switch {
	case n.name == 0:
		return math.MinInt64
	case o.frequent:
		return int64(n.uses)
	default:
		return -o.next(n.name)
	}
}

// ranked is an entry of a heap. Of equal ranks, the one that was entered first comes first.
type ranked struct {
	rank, turn int64
	number     int32
}

// rankedHeap is the heap of a tier.
type rankedHeap struct {
	*runTree
	tier int32
}

func (h *rankedHeap) entries() []ranked { return h.tiers[h.tier].heap }
func (h *rankedHeap) Len() int          { return len(h.entries()) }

func (h *rankedHeap) Less(i, j int) bool {
	a, b := &h.entries()[i], &h.entries()[j]
	return a.rank < b.rank || a.rank == b.rank && a.turn < b.turn
}

func (h *rankedHeap) Swap(i, j int) {
	e := h.entries()
	e[i], e[j] = e[j], e[i]
	h.nodes[e[i].number].older, h.nodes[e[j].number].older = int32(i), int32(j)
}

func (h *rankedHeap) Push(x any) {
	e := x.(ranked)
	h.nodes[e.number].older = int32(h.Len())
	h.tiers[h.tier].heap = append(h.entries(), e)
}

func (h *rankedHeap) Pop() any {
	last := h.Len() - 1
	e := h.entries()[last]
	h.tiers[h.tier].heap = h.entries()[:last]
	return e
}

// push enters an unused node into the heap of its tier.
func (t *runTree) push(number int32, turn int64) {
	n := &t.nodes[number]
	heap.Push(&rankedHeap{t, n.tier}, ranked{t.order.rank(n), turn, number})
}

// first returns the node of a tier that is overwritten first.
func (t *runTree) first(tier int32) int32 {
	if t.order.ranks() {
		return t.tiers[tier].heap[0].number
	}
	return t.nodes[tier].newer
}

// precedes reports whether a node of a higher tier is to be overwritten before all nodes of the
// tier, which is full.
func (t *runTree) precedes(number, tier int32) bool {
	of := &t.tiers[tier]
	return len(of.heap) > 0 && of.unused >= of.room() &&
		t.order.rank(&t.nodes[number]) < of.heap[0].rank
}

// next returns the tier to which an unused node of a tier moves, or 0 if it is dropped. It passes
// tiers that are full of what is to be kept before it, so that no block is dropped while one that
// continues it stays in a lower tier.
func (t *runTree) next(number, tier int32) int32 {
	for to := tier + 1; int(to) < len(t.tiers); to++ {
		if t.tiers[to].room() > 0 && !t.precedes(number, to) {
			return to
		}
	}
	return 0
}

// expire drops all blocks whose time is over, and returns the number of those on the accelerator.
// Blocks at the end of texts come first: they are in lower tiers, and earlier in each ring.
func (t *runTree) expire() (made int64) {
	if t.order.ttl == 0 {
		return 0
	}
	due := t.order.time() - t.order.ttl
	for ring := int32(len(t.tiers) - 1); ring >= 0; ring-- {
		for number := t.nodes[ring].newer; number != ring && t.nodes[number].left < due; {
			next, n := t.nodes[number].newer, t.nodes[number].blocks
			if ring == 0 {
				made += n
			}
			t.forget(number, n)
			number = next
		}
	}
	return made
}
