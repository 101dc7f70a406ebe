package memory

import "github.com/llmsim/llmsim/sim"

// stock is memory in units. Each sequence holds a number of units, and none is shared.
type stock struct {
	capacity, free int64
	held           sim.PerSequence[int64]
}

// grow lets s hold the given number of units, if it held fewer. It returns false, and changes
// nothing, if fewer than reserve units would stay free.
func (k *stock) grow(s *sim.Sequence, units, reserve int64) bool {
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
func (k *stock) Match(*sim.Sequence) int { return 0 }

// Release implements sim.Memory.
func (k *stock) Release(s *sim.Sequence, _ bool) {
	held := k.held.Of(s)
	k.free += *held
	*held = 0
}

// Used implements sim.Memory.
func (k *stock) Used() int64 { return k.capacity - k.free }

// Capacity implements sim.Memory.
func (k *stock) Capacity() int64 { return k.capacity }
