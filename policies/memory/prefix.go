package memory

import (
	"fmt"
	"iter"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// PrefixCache is paged memory whose full blocks can be shared (vLLM's automatic prefix caching:
// vllm/v1/core/kv_cache_manager.py and block_pool.py, v0.15). The name of a block identifies its
// tokens and all tokens before it. A block stays in memory after its last user until its place is
// needed; the least recently used block is dropped first. With blocks of one token it is SGLang's
// RadixAttention (Zheng et al., NeurIPS 2024, section 3).
//
// Blocks that no other prompt can share have no names, but are overwritten in the same order as the
// others. A copy of an existing block is given back at once, while vLLM keeps it.
//
// With lower tiers, blocks whose place is needed move to slower memory, and come back for a prompt
// that begins with them (Gao et al., CachedAttention, USENIX ATC 2024; Qin et al., Mooncake, FAST
// 2025). Moving a block down takes no time, since it happens while steps run.
type PrefixCache struct {
	Tiering
	lanes
	capacity int64 // blocks of the accelerator, at least 1
	// free is the number of blocks that hold nothing, or, below 0, minus the number of blocks that
	// were taken and whose old content was not evicted yet; evictOwed does that. At any time
	//
	//	capacity = free + tree.tiers[0].unused + blocks in use
	//
	// where a block of several users counts once.
	free    int64
	tree    runTree
	holders sim.PerSequence[blockHolder]
	words   []sim.Segment // for reuse by wholeText
	fetched prefixMatch   // what the last Extend took from lower tiers
	matched match
	pins    pins
	runs    uint64 // earlier runs of the simulator that led to these contents, see Contents
}

// match is the last match of a request's text, among at most a number of its blocks,
// while the tree did not change.
type match struct {
	prefixMatch
	limit   int64 // blocks; prefixMatch.blocks <= limit
	id      int64 // Request.ID
	changes int64 // runTree.changes at that time
}

// Tier is a slower memory to which blocks of the accelerator's memory move.
type Tier struct {
	// Blocks is its size in blocks.
	Blocks int64
	// Fetch is the time in which the KV of a block moves from the tier to the accelerator.
	Fetch sim.Time
}

// blockHolder is the memory that a sequence holds: named blocks, which come first, and a number of
// others.
type blockHolder struct {
	path         // of the named blocks
	others int64 // blocks without names, after them
	begun  bool  // the sequence has been given room
}

// NewPrefixCache returns a memory of the given number of blocks, each of blockSize tokens, over
// lower tiers, the fastest first.
func NewPrefixCache(blocks int64, blockSize int, lower ...Tier) (*PrefixCache, error) {
	if err := checkBlocks(blocks, blockSize); err != nil {
		return nil, err
	}
	for _, t := range lower {
		if t.Blocks < 1 || t.Fetch < 0 {
			return nil, fmt.Errorf(
				"a lower tier of %d blocks, each fetched in %v, want at least 1 in 0s or more",
				t.Blocks, t.Fetch)
		}
	}
	return &PrefixCache{lanes: lanes{block: int64(blockSize)}, capacity: blocks, free: blocks,
		tree: newRunTree(blockSize, lower)}, nil
}

// NewTiered returns a PrefixCache whose blocks move between tiers as described.
func NewTiered(blocks int64, blockSize int, t Tiering, lower ...Tier) (*PrefixCache, error) {
	if err := t.check(len(lower)); err != nil {
		return nil, err
	}
	p, err := NewPrefixCache(blocks, blockSize, lower...)
	if err != nil {
		return nil, err
	}
	p.Tiering = t
	p.tree.order = ordering{frequent: t.Frequent, next: t.Next, ttl: t.TTL}
	return p, nil
}

// Pin keeps the full blocks of the given segments, with which prompts begin, once they are
// computed, until the replica fails or is switched off. Requests that do not fit beside all of them
// do not fit. Pin returns an error if they take all of the memory. It must come before the first
// sequence.
func (p *PrefixCache) Pin(segments iter.Seq[sim.Segment]) (err error) {
	p.pins, err = newPins(segments, p.block, p.capacity)
	return err
}

// BlockTokens implements sim.LeapMemory.
func (p *PrefixCache) BlockTokens() int { return int(p.block) }

// Fits implements sim.Memory.
func (p *PrefixCache) Fits(tokens int) bool {
	return p.blocks(tokens) <= p.capacity-p.pins.reserved
}

// Match implements sim.Memory. At least one token is left to compute, since its result is needed.
func (p *PrefixCache) Match(s *sim.Sequence) int {
	text := p.text(s)
	if len(text) == 0 {
		return 0
	}
	p.expire()
	limit := (int64(s.Remaining()) - 1) / p.block
	if p.Prefetch {
		limit = p.tree.above(2, text, limit)
	}
	// Routers may ask about requests that have no numbers yet, so that no memory is relied on.
	p.matched = match{p.tree.probe(text, limit), limit, s.ID, p.tree.changes}
	return int(p.worth(s, text, p.matched.prefixMatch) * p.block)
}

// probe counts the blocks of the text of s that are stored, up to limit.
func (p *PrefixCache) probe(s *sim.Sequence, text []sim.Segment, limit int64) prefixMatch {
	m := &p.matched
	if m.id != s.ID || m.changes != p.tree.changes || limit != m.limit && limit != m.blocks {
		*m = match{p.tree.probe(text, limit), limit, s.ID, p.tree.changes}
	}
	return m.prefixMatch
}

// text describes the tokens of s that may be found again. A preempted sequence may find all of its
// own tokens.
func (p *PrefixCache) text(s *sim.Sequence) []sim.Segment {
	if s.Preemptions > 0 {
		return p.wholeText(s)
	}
	return s.Content
}

// wholeText describes all tokens of s.
func (p *PrefixCache) wholeText(s *sim.Sequence) []sim.Segment {
	p.words = wholeText(p.words, s, p.runs)
	return p.words
}

// wholeText describes all tokens of s in the given space, the shared ones and its own. A
// sequence of one of the runs before may have had the same number.
func wholeText(space []sim.Segment, s *sim.Sequence, runs uint64) []sim.Segment {
	own := sim.Segment{ID: content.Hash(uint64(s.ID)), Tokens: s.Prompt + s.Output}
	for _, segment := range s.Content {
		own.Tokens -= segment.Tokens
	}
	if own.Tokens == s.Output && s.Answer != 0 {
		own.ID = s.Answer
	}
	if runs > 0 && own.ID == content.Hash(uint64(s.ID)) {
		own.ID = content.Hash(own.ID ^ runs)
	}
	return append(append(space[:0], s.Content...), own)
}

// Extend implements sim.Memory. Drafted tokens may be rejected, so they get memory, but no name.
func (p *PrefixCache) Extend(s *sim.Sequence, n int, reserve int64) bool {
	need, h := p.blocks(s.Stored+n), p.holders.Of(s)
	if h.begun && s.Preemptions == 0 && h.at.Segment == len(s.Content) {
		more := max(0, need-h.blocks-h.others) // nothing more of the text can be shared
		if p.available()-more < reserve {
			return false
		}
		if p.fetched = (prefixMatch{}); more > 0 {
			p.take(more)
			h.others += more
		}
		return true
	}
	text := p.text(s)
	var stored prefixMatch
	if !h.begun {
		p.evictOwed()
		if s.Stored > 0 {
			stored = p.probe(s, text, int64(s.Stored)/p.block)
		}
		need -= stored.blocks - stored.lower
	} else {
		need = max(0, need-h.blocks-h.others) // rejected tokens have left room
	}
	if p.available()-stored.unused-need < reserve {
		return false
	}
	if !h.begun {
		h.begun = true
		p.tree.share(&h.path, text, stored.blocks)
	}
	p.fetched = stored
	p.take(need)
	h.others += need - stored.lower
	p.name(h, text, min(s.Stored+n, s.Prompt+s.Generated))
	return true
}

// name gives names to the blocks of h that are full when it stores the given number of tokens, as
// far as the text reaches. If a block exists already, it is shared, and the copy is dropped.
func (p *PrefixCache) name(h *blockHolder, text []sim.Segment, stored int) {
	if h.at.Segment == len(text) {
		return // nothing more of the text can be shared
	}
	full := int64(stored)/p.block - h.blocks
	if p.free < 0 && full > 0 && p.tree.has(&h.path, text) {
		p.evictOwed()
	}
	shared := p.tree.share(&h.path, text, full)
	p.free += shared.blocks - shared.lower
	added := p.tree.add(&h.path, text, full-shared.blocks)
	h.others -= shared.blocks + added
	p.pins.pinText(&p.tree, text, h.blocks)
}

// Release implements sim.Memory. If s was preempted, it may use its own blocks again. The answer of
// a finished request may be used again if a later prompt repeats it.
func (p *PrefixCache) Release(s *sim.Sequence, done bool) {
	h := p.holders.Of(s)
	if len(p.tree.tiers) == 1 {
		p.evictOwed() // without unused blocks, what is released without a name is empty
	}
	if !done || s.Answer != 0 {
		p.name(h, p.wholeText(s), s.Stored)
	}
	if p.tree.bare() { // nothing else would be overwritten before them
		p.free += h.others
	} else {
		p.tree.releaseUnnamed(h.others)
	}
	p.tree.leave(&h.path)
	*h = blockHolder{}
}

// available returns the number of blocks that are empty or have no users.
func (p *PrefixCache) available() int64 { return p.free + p.tree.tiers[0].unused }

// take uses up blocks, empty ones first. Copies of these take room in host memory before others are
// moved down, whether the blocks are taken at once or one by one.
func (p *PrefixCache) take(n int64) {
	if !p.Through {
		p.free -= n
		if p.tree.order.ranks() { // what is released later may go before
			p.evictOwed()
		}
		return
	}
	empty := min(n, p.free)
	p.free -= empty
	p.copy()
	if n > empty {
		p.free += p.tree.evict(0, n-empty) - (n - empty)
	}
}

// evictOwed evicts the unused blocks whose places were taken. The least recently used ones go,
// whenever that is, so it is done for many steps at once, before anything looks for blocks.
func (p *PrefixCache) evictOwed() {
	if p.free < 0 {
		p.free += p.tree.evict(0, -p.free)
	}
}

// expire drops the blocks whose time is over.
func (p *PrefixCache) expire() {
	p.evictOwed()
	p.free += p.tree.expire()
}

// Join implements sim.Memory.
func (p *PrefixCache) Join(lane int, s *sim.Sequence) { p.join(lane, s, 1) }

// Leave implements sim.Memory.
func (p *PrefixCache) Leave(lane int, s *sim.Sequence) {
	p.leave(lane, s, 1)
	p.Hold(s, s.Context())
}

// Headroom implements sim.Memory.
func (p *PrefixCache) Headroom(lane int, limit int64) int64 {
	return p.headroom(lane, limit, p.available())
}

// Growth implements sim.Memory.
func (p *PrefixCache) Growth(lane int, steps int64) int64 { return p.growth(lane, steps) }

// Advance implements sim.Memory.
func (p *PrefixCache) Advance(lane int, steps int64) { p.AdvanceSums(lane, steps) }

// AdvanceSums implements sim.SummingMemory.
func (p *PrefixCache) AdvanceSums(lane int, steps int64) (units, linear, pairs int64) {
	units, linear, pairs = p.sums(lane, steps)
	p.take(units)
	p.advance(lane, steps)
	return units, linear, pairs
}

// Used implements sim.Memory. Blocks without users count as free.
func (p *PrefixCache) Used() int64 { return p.capacity - p.available() }

// Capacity implements sim.Memory.
func (p *PrefixCache) Capacity() int64 { return p.capacity }

// Slots implements sim.SlotMemory.
func (p *PrefixCache) Slots() (all, shared int64) {
	return p.capacity * p.block, p.tree.shared * p.block
}

// Room implements sim.SlotMemory.
func (p *PrefixCache) Room(s *sim.Sequence, stored int) int64 {
	h := p.holders.Of(s)
	return max(p.blocks(stored), h.blocks+h.others) * p.block
}

// Fetched implements sim.TieredMemory.
func (p *PrefixCache) Fetched() (tokens int64, busy sim.Time) {
	return p.fetched.lower * p.block, p.fetched.fetch
}

// Take implements sim.LeapMemory.
func (p *PrefixCache) Take(units int64) { p.take(units) }

// Hold implements sim.LeapMemory.
func (p *PrefixCache) Hold(s *sim.Sequence, tokens int) {
	h := p.holders.Of(s)
	h.others = p.blocks(tokens) - h.blocks
}

// Events appends what happened since the last call to a list. The first call appends all that is
// stored. Of the blocks that were dropped at once, the order does not matter.
func (p *PrefixCache) Events(list []Event) []Event {
	p.expire()
	j := &p.tree.journal
	if !j.on {
		j.on = true
		for i := range p.tree.nodes {
			n := &p.tree.nodes[i]
			j.record(&n.passage, n.offset, n.blocks, true)
		}
	}
	list = append(list, j.events...)
	j.events = j.events[:0]
	return list
}

// Forget implements sim.Forgetter. It drops the blocks that no sequence uses from every tier, since
// the replica failed or was switched off. With Survives, the lower tiers keep what they have.
func (p *PrefixCache) Forget() {
	p.evictOwed()
	p.pins.release(&p.tree)
	if p.Survives {
		p.tree.tiers[1].copies = 0
		p.free += p.tree.evict(0, p.tree.tiers[0].unused)
		return
	}
	p.free += p.tree.tiers[0].unused
	for i := range p.tree.tiers { // each moves to the next, and is forgotten in the last
		p.tree.evict(int32(i), p.tree.tiers[i].unused)
	}
}
