// Package memory holds the policies that decide where the KV cache goes.
package memory

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Paged keeps the KV cache in blocks of a fixed number of tokens, taken as sequences grow
// (PagedAttention: Kwon et al., SOSP 2023, section 4.1). A sequence wastes less than one block.
// Blocks are counted, not named.
type Paged struct {
	lanes
	unitMemory // of blocks
}

// NewPaged returns a memory of the given number of blocks, each of blockSize tokens.
func NewPaged(blocks int64, blockSize int) (*Paged, error) {
	if err := checkBlocks(blocks, blockSize); err != nil {
		return nil, err
	}
	return &Paged{lanes{block: int64(blockSize)}, unitMemory{capacity: blocks, free: blocks}}, nil
}

func checkBlocks(blocks int64, blockSize int) error {
	if blockSize < 1 {
		return fmt.Errorf("block-size of %d tokens, want at least 1", blockSize)
	}
	if blocks < 1 {
		return fmt.Errorf("KV memory of %d blocks, want at least 1", blocks)
	}
	return nil
}

// Fits implements sim.Memory.
func (p *Paged) Fits(tokens int) bool { return p.blocks(tokens) <= p.capacity }

// Extend implements sim.Memory.
func (p *Paged) Extend(s *sim.Sequence, n int, reserve int64) bool {
	return p.reserve(s, p.blocks(s.Stored+n), reserve)
}

// Join implements sim.Memory.
func (p *Paged) Join(lane int, s *sim.Sequence) { p.join(lane, s, 1) }

// Leave implements sim.Memory.
func (p *Paged) Leave(lane int, s *sim.Sequence) {
	p.leave(lane, s, 1)
	p.Hold(s, s.Context())
}

// Headroom implements sim.Memory.
func (p *Paged) Headroom(lane int, limit int64) int64 { return p.headroom(lane, limit, p.free) }

// Growth implements sim.Memory.
func (p *Paged) Growth(lane int, steps int64) int64 { return p.growth(lane, steps) }

// Advance implements sim.Memory.
func (p *Paged) Advance(lane int, steps int64) { p.AdvanceSums(lane, steps) }

// AdvanceSums implements sim.SummingMemory.
func (p *Paged) AdvanceSums(lane int, steps int64) (units, linear, pairs int64) {
	units, linear, pairs = p.sums(lane, steps)
	p.free -= units
	p.advance(lane, steps)
	return units, linear, pairs
}

// Slots implements sim.SlotMemory.
func (p *Paged) Slots() (all, shared int64) { return p.capacity * p.block, 0 }

// Room implements sim.SlotMemory.
func (p *Paged) Room(s *sim.Sequence, stored int) int64 {
	return max(p.blocks(stored), *p.held.Of(s)) * p.block
}

// BlockTokens implements sim.LeapMemory.
func (p *Paged) BlockTokens() int { return int(p.block) }

// Take implements sim.LeapMemory.
func (p *Paged) Take(units int64) { p.free -= units }

// Hold implements sim.LeapMemory.
func (p *Paged) Hold(s *sim.Sequence, tokens int) { *p.held.Of(s) = p.blocks(tokens) }

// unitMemory is memory in units. Each sequence holds a number of units, and units are not shared.
type unitMemory struct {
	// capacity is at least 1, and 0 <= free <= capacity. Units that a lane takes in Advance leave
	// free at once.
	capacity, free int64
	// held has the units of a sequence at its last Extend, Leave or Hold. While it decodes in a
	// lane, it may hold more. If no sequence is in a lane, free + the sum of held = capacity.
	held sim.PerSequence[int64]
}

// reserve lets s hold the given number of units, if it held fewer. It returns false, and changes
// nothing, if fewer than reserve units would stay free.
func (k *unitMemory) reserve(s *sim.Sequence, units, reserve int64) bool {
	held := k.held.Of(s)
	need := max(0, units-*held)
	if k.free-need < reserve {
		return false
	}
	k.free -= need
	*held += need
	return true
}

// Match implements sim.Memory. Nothing is shared.
func (k *unitMemory) Match(*sim.Sequence) int { return 0 }

// Release implements sim.Memory.
func (k *unitMemory) Release(s *sim.Sequence, _ bool) {
	held := k.held.Of(s)
	k.free += *held
	*held = 0
}

// Used implements sim.Memory.
func (k *unitMemory) Used() int64 { return k.capacity - k.free }

// Capacity implements sim.Memory.
func (k *unitMemory) Capacity() int64 { return k.capacity }
