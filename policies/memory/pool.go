package memory

import (
	"errors"

	"github.com/llmsim/llmsim/sim"
)

// Pool holds KV blocks for several replicas, in memory of other machines, the last used ones (Qin
// et al., Mooncake, FAST 2025, section 4).
type Pool struct {
	// free is the number of blocks that hold nothing, at least 0. Between calls no sequence holds a
	// block, so that free + tree.tiers[0].unused is the size of the pool.
	free int64
	tree runTree
}

// NewPool returns a pool of the given number of blocks, each of blockSize tokens.
func NewPool(blocks int64, blockSize int) (*Pool, error) {
	if err := checkBlocks(blocks, blockSize); err != nil {
		return nil, err
	}
	return &Pool{free: blocks, tree: newRunTree(blockSize, nil)}, nil
}

// use counts the leading blocks of a text that the pool has, and makes them the last used ones.
func (p *Pool) use(text []sim.Segment, limit int64) int64 {
	var at path
	n := p.tree.share(&at, text, limit).blocks
	p.tree.leave(&at)
	return n
}

// storeText stores the leading blocks of a text, as far as the pool holds them.
func (p *Pool) storeText(text []sim.Segment, limit int64) {
	var at path
	n := limit - p.tree.share(&at, text, limit).blocks
	if p.free < n {
		p.free += p.tree.evict(0, min(n-p.free, p.tree.tiers[0].unused))
	}
	p.free -= p.tree.add(&at, text, min(n, p.free))
	p.tree.leave(&at)
}

// Pooled is a PrefixCache that shares a pool with other replicas. What comes from the pool goes to
// the first lower tier, and from there to the accelerator as other blocks do. What a request leaves
// goes to the pool when the request has ended. NewPooled sets all fields but spare; they do not
// change.
type Pooled struct {
	cache *PrefixCache // with tier 1, and blocks of as many tokens as the pool's
	pool  *Pool        // other replicas' connections change it, too
	block float64      // the size of a block in bytes, above 0
	fetch sim.Time     // in which a block comes where nothing else is under way, at least 0
	// spare has the space of texts that have reached the pool. The space of a text under way
	// belongs to the function that Offer returned; it is lost if that is not called.
	spare [][]sim.Segment
}

// NewPooled returns the connection of a memory, which has a lower tier, with a pool of blocks of
// the same size.
func NewPooled(p *PrefixCache, pool *Pool, block float64, fetch sim.Time) (*Pooled, error) {
	if len(p.tree.tiers) < 2 || pool.tree.block != p.tree.block || !(block > 0) || fetch < 0 {
		return nil, errors.New("a pool needs a lower tier into which its blocks come, blocks of " +
			"the same size of more than 0 bytes, and a time of 0 or more to fetch one")
	}
	return &Pooled{cache: p, pool: pool, block: block, fetch: fetch}, nil
}

// Cache returns the PrefixCache that a memory is, or that adapters are beside, or nil.
func Cache(m sim.Memory) *PrefixCache {
	c, _ := besideAdapters(m).(*PrefixCache)
	return c
}

// HybridCache returns the Hybrid that a memory is, or that adapters are beside, or nil.
func HybridCache(m sim.Memory) *Hybrid {
	h, _ := besideAdapters(m).(*Hybrid)
	return h
}

// besideAdapters returns the memory that adapters are beside, or m.
func besideAdapters(m sim.Memory) sim.Memory {
	switch m := m.(type) {
	case *Adapters:
		return besideAdapters(m.Memory)
	case *slottedAdapters:
		return besideAdapters(m.Memory)
	}
	return m
}

// Wanted implements sim.PooledMemory.
func (p *Pooled) Wanted(s *sim.Sequence) int64 {
	c := p.cache
	text := c.text(s)
	c.expire()
	limit := (int64(s.Remaining()) - 1) / c.block
	here := c.probe(s, text, limit).blocks
	there := p.pool.use(text, limit)
	if there <= here {
		return 0
	}
	fetch := sim.Time(there-here) * (p.fetch + c.tree.tiers[1].Fetch)
	if !c.fetches(s, int(here*c.block), int(there*c.block), fetch) {
		return 0
	}
	return int64(float64(there-here) * p.block)
}

// Bring implements sim.PooledMemory.
func (p *Pooled) Bring(s *sim.Sequence) {
	c := p.cache
	c.evictOwed()
	text := c.text(s)
	limit := (int64(s.Remaining()) - 1) / c.block
	c.tree.storeInHost(text, p.pool.use(text, limit))
}

// Offer implements sim.PooledMemory. The KV of the last token of an answer is never stored.
func (p *Pooled) Offer(s *sim.Sequence) (bytes int64, keep func()) {
	text := p.space()
	if s.Answer != 0 {
		text = wholeText(text, s, 0)
	} else {
		text = append(text, s.Content...)
	}
	tokens := 0
	for i := range text {
		tokens += text[i].Tokens
	}
	blocks := int64(min(tokens, s.Prompt+s.Output-1)) / p.cache.block
	missing := blocks - p.pool.use(text, blocks)
	if missing <= 0 {
		p.spare = append(p.spare, text)
		return 0, nil
	}
	return int64(float64(missing) * p.block), func() {
		p.pool.storeText(text, blocks)
		p.spare = append(p.spare, text)
	}
}

// space returns memory for a text.
func (p *Pooled) space() (text []sim.Segment) {
	if k := len(p.spare); k > 0 {
		text, p.spare = p.spare[k-1][:0], p.spare[:k-1]
	}
	return text
}
