package timeline

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// pool says which blocks requests hold, as vLLM's pool does (vllm/v1/core/block_pool.py and
// kv_cache_utils.py, FreeKVCacheBlockQueue). Free blocks are in a queue: a request takes from its
// head, and gives back to its tail, its last block first. A block that is given back keeps its
// content, and a later request can find it by that, until it is taken. A contiguous reservation
// takes the first gap that is long enough.
type pool struct {
	of         *Blocks
	contiguous bool
	caches     bool
	blocks     []block
	queue      []queued
	named      map[uint64]int // blocks by the name of their content
	held       map[*sim.Sequence][]int
}

// block is the state of a block.
type block struct {
	users []int64 // the requests that hold it
	name  uint64  // of its content; 0 without one that others could find
	since sim.Time
	last  int64 // the request that gave it back; −1 where no request has held it
	turn  int   // grows whenever it enters or leaves the queue
}

// queued is a free block, unless its turn is over.
type queued struct{ block, turn int }

func newPool(b *Blocks, contiguous, caches bool) pool {
	p := pool{of: b, contiguous: contiguous, caches: caches, named: map[uint64]int{},
		held: map[*sim.Sequence][]int{}}
	p.blocks = make([]block, b.Capacity/b.Size)
	for i := range p.blocks {
		p.blocks[i].last = -1
		p.queue = append(p.queue, queued{i, 0})
	}
	return p
}

// take gives s the blocks for its room, and names the content of those that are full.
func (p *pool) take(s *sim.Sequence, h Holder, at sim.Time) {
	list := p.held[s]
	var names []uint64
	if p.caches {
		names = content.Names(nil, s.Content, int(p.of.Size))
	}
	if len(list) == 0 {
		for i := range min(s.Cached/int(p.of.Size), len(names)) {
			b, found := p.named[names[i]]
			if !found {
				break
			}
			p.of.Found++
			p.hold(b, s.ID, at)
			list = append(list, b)
		}
	}
	wants := int((h.Room + p.of.Size - 1) / p.of.Size)
	if p.contiguous && len(list) == 0 {
		list = p.gap(wants)
		for _, b := range list {
			p.grab(b, s.ID, at)
		}
	}
	for len(list) < wants {
		b := p.next()
		if b < 0 {
			break
		}
		p.grab(b, s.ID, at)
		list = append(list, b)
	}
	for len(list) > wants {
		p.leave(list[len(list)-1], s.ID, at)
		list = list[:len(list)-1]
	}
	for i := range min(int(h.Stored/p.of.Size), len(names), len(list)) {
		if _, known := p.named[names[i]]; !known && p.blocks[list[i]].name == 0 {
			p.named[names[i]], p.blocks[list[i]].name = list[i], names[i]
		}
	}
	p.held[s] = list
}

// give gives back what s holds.
func (p *pool) give(s *sim.Sequence, at sim.Time) {
	list := p.held[s]
	for i := len(list) - 1; i >= 0; i-- {
		p.leave(list[i], s.ID, at)
	}
	delete(p.held, s)
}

// next returns the block at the head of the queue; −1 where no block is free.
func (p *pool) next() int {
	for len(p.queue) > 0 {
		head := p.queue[0]
		p.queue = p.queue[1:]
		if p.blocks[head.block].turn == head.turn {
			return head.block
		}
	}
	return -1
}

// gap returns the first n free blocks that follow each other, and nil where there is no such gap.
func (p *pool) gap(n int) (list []int) {
	for i := range p.blocks {
		if len(p.blocks[i].users) > 0 {
			list = list[:0]
		} else if list = append(list, i); len(list) == n {
			return list
		}
	}
	return nil
}

// grab has a request hold a free block, whose content is lost.
func (p *pool) grab(i int, id int64, at sim.Time) {
	if last := p.blocks[i].last; last >= 0 && last != id {
		p.of.Again++
	}
	p.hold(i, id, at)
	p.forget(i)
}

// hold notes that a request holds a block from now on.
func (p *pool) hold(i int, id int64, at sim.Time) {
	b := &p.blocks[i]
	if len(b.users) == 0 {
		if b.name != 0 {
			p.span(i, b.last, at, true)
		}
		b.turn++
		b.since = at
	}
	b.users = append(b.users, id)
}

// leave notes that a request no longer holds a block. Where others do, it is theirs.
func (p *pool) leave(i int, id int64, at sim.Time) {
	b := &p.blocks[i]
	if b.users[0] == id {
		p.span(i, id, at, false)
		b.since = at
	}
	for k, user := range b.users {
		if user == id {
			b.users = append(b.users[:k], b.users[k+1:]...)
			break
		}
	}
	if len(b.users) == 0 {
		b.last = id
		b.turn++
		p.queue = append(p.queue, queued{i, b.turn})
	}
}

// forget takes the name from the content of a block, so that no request finds it.
func (p *pool) forget(i int) {
	if name := p.blocks[i].name; name != 0 {
		delete(p.named, name)
		p.blocks[i].name = 0
	}
}

// span notes who held a block, or whose content it kept, since its last change.
func (p *pool) span(i int, id int64, at sim.Time, kept bool) {
	if from := p.blocks[i].since; at > from {
		p.of.Spans = append(p.of.Spans, Span{i, id, from, at, kept})
	}
}

// end closes the spans of blocks that are held or keep their content at the end, and cuts all spans
// there.
func (p *pool) end(at sim.Time) {
	for i := range p.blocks {
		switch b := &p.blocks[i]; {
		case len(b.users) > 0:
			p.span(i, b.users[0], at, false)
		case b.name != 0:
			p.span(i, b.last, at, true)
		}
	}
	spans := p.of.Spans[:0]
	for _, s := range p.of.Spans {
		if s.To = min(s.To, at); s.From < s.To {
			spans = append(spans, s)
		}
	}
	p.of.Spans = spans
}
