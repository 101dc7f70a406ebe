package memory

import "github.com/llmsim/llmsim/sim"

// PrefixCache is paged memory whose full blocks can be shared: a block is named by the hash of its tokens and of all before it,
// and stays in memory after its last user, until its place is needed; the least recently used one goes first (vLLM's automatic
// prefix caching: vllm/v1/core/kv_cache_manager.py and block_pool.py, v0.15).
//
// Only blocks whose content a request describes have names; the others are counted as in Paged.
type PrefixCache struct {
	lanes
	capacity int64
	free     int64 // blocks that hold nothing
	cache    blockCache
	holders  []holder // by Sequence.Handle − 1
	spare    []int    // handles for reuse
	content  []sim.Segment
}

// holder is what a sequence holds: its named blocks, which come first, and a number of others.
type holder struct {
	named  []int32
	others int64
	reader contentReader // names the block after those named
}

// NewPrefixCache returns a memory of the given number of blocks, each of blockSize tokens.
func NewPrefixCache(blocks int64, blockSize int) (*PrefixCache, error) {
	if err := checkBlocks(blocks, blockSize); err != nil {
		return nil, err
	}
	return &PrefixCache{lanes: lanes{block: int64(blockSize)}, capacity: blocks, free: blocks, cache: newBlockCache()}, nil
}

// Fits implements sim.Memory.
func (p *PrefixCache) Fits(tokens int) bool { return p.blocks(tokens) <= p.capacity }

// Match implements sim.Memory. At least one token is left to compute, since its result is needed.
func (p *PrefixCache) Match(s *sim.Sequence) int {
	found, limit := 0, (s.Remaining()-1)/int(p.block)
	var reader contentReader
	for found < limit {
		name, ok := reader.next(s.Content, int(p.block))
		if !ok || !p.cache.has(name) {
			break
		}
		found++
	}
	return found * int(p.block)
}

// Extend implements sim.Memory.
func (p *PrefixCache) Extend(s *sim.Sequence, n int, reserve int64) bool {
	need, lost := p.blocks(s.Stored+n), int64(0)
	if s.Handle == 0 {
		need -= int64(s.Stored) / p.block
		lost = p.unusedMatches(s)
	} else {
		h := &p.holders[s.Handle-1]
		need -= int64(len(h.named)) + h.others
	}
	if p.available()-lost-need < reserve {
		return false
	}
	if s.Handle == 0 {
		p.hold(s)
	}
	p.take(need)
	h := &p.holders[s.Handle-1]
	h.others += need
	p.nameFull(h, s.Content, s.Stored+n)
	return true
}

// unusedMatches counts those of the cached blocks that Match found for s which count as free until s holds them.
func (p *PrefixCache) unusedMatches(s *sim.Sequence) int64 {
	var reader contentReader
	unused := int64(0)
	for range s.Stored / int(p.block) {
		name, _ := reader.next(s.Content, int(p.block))
		if p.cache.users(name) == 0 {
			unused++
		}
	}
	return unused
}

// hold gives s a handle, and the cached blocks that Match found.
func (p *PrefixCache) hold(s *sim.Sequence) {
	if k := len(p.spare); k > 0 {
		s.Handle = p.spare[k-1]
		p.spare = p.spare[:k-1]
	} else {
		p.holders = append(p.holders, holder{})
		s.Handle = len(p.holders)
	}
	h := &p.holders[s.Handle-1]
	h.reader = contentReader{}
	for range s.Stored / int(p.block) {
		name, _ := h.reader.next(s.Content, int(p.block))
		h.named = append(h.named, p.cache.use(name))
	}
}

// nameFull names the blocks of h that are full when it stores so many tokens, as far as their content is known. A block that
// exists already is shared, and the copy dropped.
func (p *PrefixCache) nameFull(h *holder, content []sim.Segment, stored int) {
	for (len(h.named)+1)*int(p.block) <= stored {
		name, ok := h.reader.next(content, int(p.block))
		if !ok {
			return
		}
		if p.cache.has(name) {
			p.free++
		}
		h.others--
		h.named = append(h.named, p.cache.use(name))
	}
}

// Release implements sim.Memory. The answer of a finished request stays too, if a later prompt may repeat it.
func (p *PrefixCache) Release(s *sim.Sequence, done bool) {
	h := &p.holders[s.Handle-1]
	if done && s.Answer != 0 && length(s.Content) == s.Prompt {
		p.content = append(append(p.content[:0], s.Content...), sim.Segment{ID: s.Answer, Tokens: s.Output})
		p.nameFull(h, p.content, s.Stored)
	}
	// The end of a prompt is of use to fewer than its beginning, and goes first.
	for i := len(h.named) - 1; i >= 0; i-- {
		p.cache.drop(h.named[i])
	}
	p.free += h.others
	h.named, h.others = h.named[:0], 0
	p.spare = append(p.spare, s.Handle)
	s.Handle = 0
}

func length(content []sim.Segment) int {
	n := 0
	for _, segment := range content {
		n += segment.Tokens
	}
	return n
}

// available returns the blocks that can be had: those that hold nothing, and those that nobody uses.
func (p *PrefixCache) available() int64 { return p.free + p.cache.unused }

// take uses up blocks, empty ones first.
func (p *PrefixCache) take(n int64) {
	for p.free < n {
		p.cache.evict()
		p.free++
	}
	p.free -= n
}

// Join implements sim.Memory.
func (p *PrefixCache) Join(lane int, s *sim.Sequence) { p.join(lane, s) }

// Leave implements sim.Memory.
func (p *PrefixCache) Leave(lane int, s *sim.Sequence) {
	p.leave(lane, s)
	h := &p.holders[s.Handle-1]
	h.others = p.blocks(s.Context()) - int64(len(h.named))
}

// Headroom implements sim.Memory.
func (p *PrefixCache) Headroom(lane int, limit int64) int64 {
	return p.headroom(lane, limit, p.available())
}

// Growth implements sim.Memory.
func (p *PrefixCache) Growth(lane int, steps int64) int64 { return p.growth(lane, steps) }

// Advance implements sim.Memory.
func (p *PrefixCache) Advance(lane int, steps int64) {
	p.take(p.growth(lane, steps))
	p.advance(lane, steps)
}

// Used implements sim.Memory: blocks that nobody uses count as free.
func (p *PrefixCache) Used() int64 { return p.capacity - p.available() }

// Capacity implements sim.Memory.
func (p *PrefixCache) Capacity() int64 { return p.capacity }
