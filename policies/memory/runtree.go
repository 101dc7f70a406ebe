package memory

import (
	"container/heap"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// runTree is a radix tree of full KV blocks. A node is a run of blocks, and follows its parent in
// every text that has it. What one sequence stores is one node, as far as nobody else uses a part
// of it. Nodes without users stay until their place is needed. Each tier of memory has a ring of
// them, in the order in which their last users left.
//
// A sequence that holds a node holds all nodes before it, and leaves the last node first. So a node
// never loses its last user after its parent does, and the oldest node of a ring has no children.
// Dropping the last blocks of the oldest node is therefore the same as dropping the least recently
// used blocks. With another order of eviction, a heap of each tier takes the place of its ring.
type runTree struct {
	block  int   // tokens of a block, at least 1
	unit   int64 // units of memory that a new block takes, at least 1
	byName names // of the nodes with a name
	// nodes are the nodes by number. The first ones, one for each tier, are no runs but the ends of
	// the tiers' rings; number 0 is also the root. A pointer to a node is valid until the next call
	// of number.
	nodes  []runNode
	spare  []int32 // numbers of nodes that hold nothing, for reuse
	spent  spentPassages
	tiers  []tier // the accelerator's memory and the lower tiers, the fastest first
	shared int64  // the sum of blocks·(users − 1) over the nodes with users
	order  ordering
	// changes grows with everything that may change the result of probe, and lookups with each call
	// of find, which a test bounds.
	changes, lookups int64
	journal          journal
}

// tier is the memory of the accelerator, whose Tier is zero, or a slower one. Only its unused
// blocks matter here. In a lower tier, unused <= room(), except within trim and Restore.
type tier struct {
	Tier
	unused int64    // units of the blocks that no sequence uses
	copies int64    // blocks of the accelerator with a copy here; only in the first lower tier
	heap   []ranked // of the nodes without users, in place of a ring, if ordering.ranks
}

// room returns the number of blocks of a lower tier that are not copies of others.
func (t *tier) room() int64 { return t.Blocks - t.copies }

// runNode is a run of blocks. A node with users is in tier 0, except within storeInHost, and so are
// all nodes before it in its texts, which have at least as many users.
type runNode struct {
	name uint64 // of the first block; 0 if no request can ask for it
	// passage is the text of the blocks, and may be longer. The first block begins offset tokens
	// into it, in the segment of texts with the given number. It is empty without a name.
	passage
	offset, segment int
	blocks          int64 // at least 1
	unit            int64 // units of memory that each block takes
	tier            int32 // index in runTree.tiers
	users           int32 // sequences and pins that hold it
	parent          int32 // number of the node before it in its texts; 0 for the root
	children        int32 // nodes whose parent it is
	// older and newer are neighbours in the ring of the tier, while there is no user. If the tier
	// has a heap, older is the index in it.
	older, newer int32
	uses         int32    // how often sequences began to use it
	next         int32    // a node that followed it, a guess for find: it may be another by now
	left         sim.Time // when the last user left; 0 unless blocks expire
}

// path holds the nodes of a sequence, from the root to the leaf, and the number of their blocks.
// The text of the sequence continues at the cursor.
type path struct {
	leaf   int32 // number of the last node; 0 for an empty path
	blocks int64 // of all nodes of the path
	at     content.Cursor
}

// prefixMatch counts the blocks of a text that are stored already.
type prefixMatch struct {
	blocks int64    // all of them
	unused int64    // units of the blocks on the accelerator that no sequence uses
	lower  int64    // blocks in lower tiers, at most blocks
	fetch  sim.Time // time in which these come to the accelerator, one after another
}

// newRunTree returns a tree over the accelerator's memory and lower tiers.
func newRunTree(block int, lower []Tier) runTree {
	t := runTree{block: block, unit: 1, tiers: make([]tier, 1), journal: journal{block: block}}
	for _, l := range lower {
		t.tiers = append(t.tiers, tier{Tier: l})
	}
	for ring := range t.tiers {
		t.nodes = append(t.nodes, runNode{older: int32(ring), newer: int32(ring)})
	}
	return t
}

// find returns the node with which the text continues at the cursor, after the node before, the
// number of its blocks that agree with the text, at most limit, and the place after them. Most
// texts continue as the last one did, which is tried before the index.
func (t *runTree) find(before int32, at content.Cursor, text []sim.Segment,
	limit int64) (number int32, blocks int64, after content.Cursor) {
	t.lookups++
	of := &t.nodes[before]
	if before != 0 && of.children == 0 {
		return 0, 0, at
	}
	name := at.Name(text, t.block)
	if name == 0 {
		return 0, 0, at
	}
	if number = of.next; t.nodes[number].name != name {
		var ok bool
		if number, ok = t.byName.find(name); !ok {
			return 0, 0, at
		}
		of.next = number
	}
	blocks, after = t.nodes[number].agree(at, text, limit, t.block)
	return number, blocks, after
}

// has reports whether the block with which a text continues after a path is stored.
func (t *runTree) has(p *path, text []sim.Segment) bool {
	_, n, _ := t.find(p.leaf, p.at, text, 1)
	return n > 0
}

// agree returns how many blocks of the node, up to limit, a text has at the cursor, where the node
// begins, and the place in the text after them.
func (n *runNode) agree(at content.Cursor, text []sim.Segment, limit int64,
	block int) (blocks int64, after content.Cursor) {
	blocks = min(limit, n.blocks)
	end, rest := n.offset+int(blocks)*block, text[at.Segment:] // tokens of the passage
	i, sum := 0, 0                                             // whole segments, and their tokens
	for i < len(rest) && i < len(n.list) && rest[i] == n.list[i] && sum+rest[i].Tokens <= end {
		sum += rest[i].Tokens
		i++
	}
	common := sum
	if i < len(rest) && i < len(n.list) && rest[i].ID == n.list[i].ID {
		common += min(rest[i].Tokens, n.list[i].Tokens)
	}
	if common < end {
		blocks = int64(max(0, common-n.offset) / block)
		end = n.offset + int(blocks)*block
		for end < sum {
			i--
			sum -= rest[i].Tokens
		}
	}
	after = content.Cursor{Segment: at.Segment + i, Offset: end - sum, Before: n.hash(i)}
	if i < len(rest) && after.Offset == rest[i].Tokens { // the node has more of this segment
		after = content.Cursor{Segment: after.Segment + 1,
			Before: content.After(after.Before, &rest[i])}
	}
	return blocks, after
}

// probe counts the leading blocks of the text that are stored, up to limit.
func (t *runTree) probe(text []sim.Segment, limit int64) prefixMatch {
	var f prefixMatch
	var at content.Cursor
	number, n := int32(0), int64(0)
	for f.blocks < limit {
		if number, n, at = t.find(number, at, text, limit-f.blocks); n == 0 {
			break
		}
		t.count(&f, number, n)
	}
	return f
}

// count adds blocks of a node to those found.
func (t *runTree) count(f *prefixMatch, number int32, blocks int64) {
	node := &t.nodes[number]
	f.blocks += blocks
	if node.tier > 0 {
		f.lower += blocks
		f.fetch += sim.Time(blocks) * t.tiers[node.tier].Fetch
	} else if node.users == 0 {
		f.unused += blocks * node.unit
	}
}

// share adds the next blocks of the text to the path as far as they are stored, up to limit. Blocks
// of lower tiers come back to the accelerator.
func (t *runTree) share(p *path, text []sim.Segment, limit int64) prefixMatch {
	var f prefixMatch
	for f.blocks < limit {
		number, n, after := t.find(p.leaf, p.at, text, limit-f.blocks)
		if n == 0 {
			break
		}
		t.count(&f, number, n)
		if n < t.nodes[number].blocks {
			number = t.split(number, n)
		}
		t.use(number)
		if t.own(p.leaf) && t.nodes[number].users == 1 && t.nodes[p.leaf].children == 1 {
			t.merge(p.leaf, number)
		}
		*p = path{number, p.blocks + n, after}
	}
	return f
}

// own reports whether the last node of a path, which a sequence holds, may grow by what only that
// sequence has.
func (t *runTree) own(leaf int32) bool {
	n := &t.nodes[leaf]
	return leaf != 0 && n.users == 1 && n.tier == 0 && !t.order.ranks()
}

// add stores the next blocks of the text, which are not stored yet, up to limit, and adds them to
// the path. It returns their number, which is less than limit if the text ends.
func (t *runTree) add(p *path, text []sim.Segment, limit int64) int64 {
	limit = min(limit, int64(p.at.Left(text)/t.block))
	if limit > 0 && t.own(p.leaf) && t.nodes[p.leaf].children == 0 {
		t.changes++
		n := &t.nodes[p.leaf]
		at := n.resume(p.at.Segment-n.segment, p.at, text, int(limit)*t.block)
		n.blocks += limit
		t.journal.record(&n.passage, n.offset+int(n.blocks-limit)*t.block, limit, true)
		*p = path{p.leaf, p.blocks + limit, at}
		return limit
	}
	t.store(p, text, limit)
	return max(0, limit)
}

// store stores the next blocks of the text, which has that many, in nodes of their own, and adds
// these to the path.
func (t *runTree) store(p *path, text []sim.Segment, blocks int64) {
	most := blocks
	if t.order.next != nil {
		most = 1 // each block has a next use of its own
	}
	for ; blocks > 0; blocks -= most {
		number := t.number()
		n := &t.nodes[number]
		*n = runNode{
			name: p.at.Name(text, t.block), offset: p.at.Offset,
			segment: p.at.Segment, blocks: most, unit: t.unit, users: 1, uses: 1, parent: p.leaf,
		}
		n.passage = t.spent.take(1 + min(int(most), len(text)-p.at.Segment))
		at := n.resume(0, p.at, text, int(most)*t.block)
		t.nodes[p.leaf].children++
		t.byName.set(n.name, number)
		t.journal.record(&n.passage, n.offset, most, true)
		*p = path{number, p.blocks + most, at}
	}
}

// split cuts a node after the given number of blocks, at least 1 and fewer than it has, and returns
// the number of the upper part. The lower part keeps the number, which holders and children know.
// Both have the users, the tier and the place in the ring or heap of the node, the upper one as the
// newer of the two, so that the lower one is evicted first.
func (t *runTree) split(number int32, blocks int64) (upper int32) {
	upper = t.number()
	n := &t.nodes[number]
	t.nodes[upper] = *n
	u := &t.nodes[upper]
	u.blocks = blocks
	n.blocks -= blocks
	if n.name != 0 {
		u.children, u.next, n.parent = 1, number, upper
		at := n.seek(n.offset + int(blocks)*t.block)
		n.name = at.Name(n.list, t.block)
		u.passage, n.passage = n.cut(at.Segment, at.Offset > 0,
			t.spent.take(len(n.list)-at.Segment))
		n.segment, n.offset = n.segment+at.Segment, at.Offset
		t.byName.set(u.name, upper)
		t.byName.set(n.name, number)
	}
	if n.users == 0 && t.order.ranks() {
		t.push(upper, t.tiers[n.tier].heap[n.older].turn)
	} else if n.users == 0 {
		u.older, u.newer = number, n.newer
		t.nodes[n.newer].older = upper
		t.nodes[number].newer = upper
	}
	return upper
}

// use adds a user to a node, and moves the node to the accelerator if it is in a lower tier.
func (t *runTree) use(number int32) {
	t.hold(number)
	t.nodes[number].tier = 0
}

// hold adds a user to a node where it is.
func (t *runTree) hold(number int32) {
	n := &t.nodes[number]
	if n.users == 0 {
		t.unlink(number)
	} else {
		t.shared += n.blocks
	}
	n.users++
	n.uses++
}

// leave takes a user from all nodes of the path, the last node first, because fewer texts share the
// end of a text than its beginning.
func (t *runTree) leave(p *path) {
	for number := p.leaf; number != 0; number = t.nodes[number].parent {
		n := &t.nodes[number]
		if n.users--; n.users == 0 {
			n.left = t.order.time()
			t.link(number)
		} else {
			t.shared -= n.blocks
		}
	}
	*p = path{}
}

// bare reports whether nothing would be overwritten before blocks without names: there is neither
// an unused block with a name nor a lower tier, or nodes are ranked.
func (t *runTree) bare() bool {
	return t.order.ranks() || len(t.tiers) == 1 && t.nodes[0].newer == 0
}

// releaseUnnamed adds units of memory without a name to the ring, to be overwritten in order.
func (t *runTree) releaseUnnamed(units int64) {
	if units == 0 {
		return
	}
	newest := t.nodes[0].older
	if n := &t.nodes[newest]; newest != 0 && n.name == 0 && n.unit == 1 { // they may as well be one
		n.blocks += units
		n.left = t.order.time()
		t.tiers[0].unused += units
		return
	}
	number := t.number()
	t.nodes[number] = runNode{blocks: units, unit: 1, left: t.order.time()}
	t.link(number)
}

// link puts a node, which has no user, at the newest end of its tier's ring.
func (t *runTree) link(number int32) {
	t.changes++
	n := &t.nodes[number]
	ring := n.tier
	t.tiers[ring].unused += n.blocks * n.unit
	if t.order.ranks() {
		t.order.turns++
		t.push(number, t.order.turns)
		return
	}
	n.older, n.newer = t.nodes[ring].older, ring
	t.nodes[n.older].newer = number
	t.nodes[ring].older = number
}

func (t *runTree) unlink(number int32) {
	t.changes++
	n := &t.nodes[number]
	t.tiers[n.tier].unused -= n.blocks * n.unit
	if t.order.ranks() {
		heap.Remove(&rankedHeap{t, n.tier}, int(n.older))
		return
	}
	t.nodes[n.older].newer = n.newer
	t.nodes[n.newer].older = n.older
}

func (t *runTree) number() int32 {
	t.changes++
	if k := len(t.spare); k > 0 {
		number := t.spare[k-1]
		t.spare = t.spare[:k-1]
		return number
	}
	t.nodes = append(t.nodes, runNode{})
	return int32(len(t.nodes) - 1)
}
