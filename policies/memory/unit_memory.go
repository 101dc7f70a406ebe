package memory

import "github.com/llmsim/llmsim/sim"

// unitMemory is memory in units. Each sequence holds a number of units, and units are not shared.
type unitMemory struct {
	capacity, free int64
	held           sim.PerSequence[int64]
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
