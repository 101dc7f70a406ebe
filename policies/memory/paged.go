// Package memory holds the policies that decide where the KV cache goes.
package memory

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Paged keeps the KV cache in blocks of a fixed number of tokens, taken as sequences grow (PagedAttention: Kwon et al., SOSP
// 2023, section 4.1). A sequence wastes less than one block.
//
// Blocks are counted, not named. Sequences that decode in the same lane grow in step, so that the blocks they will need follow
// from how many stand at each position within a block.
type Paged struct {
	block    int64
	capacity int64
	free     int64
	lanes    []pagedLane
}

// pagedLane counts the decoding sequences of a lane by phase: the position within a block, less the lane's clock, at which
// their next token goes. It does not change while they decode.
type pagedLane struct {
	clock     int64
	sequences int64
	phases    []int64
}

// NewPaged returns a memory of the given number of blocks, each of blockSize tokens.
func NewPaged(blocks int64, blockSize int) (*Paged, error) {
	if blocks < 1 {
		return nil, fmt.Errorf("KV memory of %d blocks: want at least 1", blocks)
	}
	if blockSize < 1 {
		return nil, fmt.Errorf("block size of %d tokens: want at least 1", blockSize)
	}
	return &Paged{block: int64(blockSize), capacity: blocks, free: blocks}, nil
}

func (p *Paged) blocks(tokens int) int64 { return (int64(tokens) + p.block - 1) / p.block }

// Fits implements sim.Memory.
func (p *Paged) Fits(tokens int) bool { return p.blocks(tokens) <= p.capacity }

// Match implements sim.Memory: nothing is shared.
func (p *Paged) Match(*sim.Sequence) int { return 0 }

// Extend implements sim.Memory.
func (p *Paged) Extend(s *sim.Sequence, n int, reserve int64) bool {
	need := p.blocks(s.Stored+n) - int64(s.Held)
	if p.free-need < reserve {
		return false
	}
	p.free -= need
	s.Held += int(need)
	return true
}

// Release implements sim.Memory.
func (p *Paged) Release(s *sim.Sequence, _ bool) {
	p.free += int64(s.Held)
	s.Held = 0
}

// Join implements sim.Memory.
func (p *Paged) Join(lane int, s *sim.Sequence) {
	for len(p.lanes) <= lane {
		p.lanes = append(p.lanes, pagedLane{phases: make([]int64, p.block)})
	}
	l := &p.lanes[lane]
	l.sequences++
	l.phases[p.phase(l, s)]++
}

// Leave implements sim.Memory.
func (p *Paged) Leave(lane int, s *sim.Sequence) {
	l := &p.lanes[lane]
	l.sequences--
	l.phases[p.phase(l, s)]--
	s.Held = int(p.blocks(s.Context()))
}

func (p *Paged) phase(l *pagedLane, s *sim.Sequence) int64 {
	return (int64(s.Context())%p.block - l.clock + p.block) % p.block
}

// Growth implements sim.Memory: in as many steps as a block has tokens, each sequence takes one block; in the steps left over,
// those whose turn it is.
func (p *Paged) Growth(lane int, steps int64) int64 {
	if lane >= len(p.lanes) {
		return 0
	}
	l := &p.lanes[lane]
	return steps/p.block*l.sequences + l.partial(steps%p.block)
}

// Headroom implements sim.Memory.
func (p *Paged) Headroom(lane int, limit int64) int64 {
	if lane >= len(p.lanes) || p.lanes[lane].sequences == 0 {
		return limit
	}
	l := &p.lanes[lane]
	rounds := p.free / l.sequences // of a block for every sequence
	if limit/p.block < rounds {
		return limit
	}
	steps, left := rounds*p.block, p.free%l.sequences
	at := l.turn()
	for steps < limit {
		if left -= l.phases[at]; left < 0 {
			break
		}
		steps++
		at = l.after(at)
	}
	return min(steps, limit)
}

// Advance implements sim.Memory.
func (p *Paged) Advance(lane int, steps int64) {
	if lane >= len(p.lanes) {
		return
	}
	p.free -= p.Growth(lane, steps)
	l := &p.lanes[lane]
	l.clock = (l.clock + steps) % p.block
}

// Used implements sim.Memory.
func (p *Paged) Used() int64 { return p.capacity - p.free }

// Capacity implements sim.Memory.
func (p *Paged) Capacity() int64 { return p.capacity }

// partial returns the blocks taken in the next steps, fewer than a block has tokens.
func (l *pagedLane) partial(steps int64) int64 {
	n, at := int64(0), l.turn()
	for range steps {
		n += l.phases[at]
		at = l.after(at)
	}
	return n
}

// turn returns the phase whose sequences need a block in the next step, after the one that follows a phase.
func (l *pagedLane) turn() int {
	if l.clock == 0 {
		return 0
	}
	return len(l.phases) - int(l.clock)
}

func (l *pagedLane) after(phase int) int {
	if phase == 0 {
		return len(l.phases) - 1
	}
	return phase - 1
}
