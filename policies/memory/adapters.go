package memory

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Adapters is a memory beside which a replica keeps a number of adapters (LoRA) in slots of its
// accelerators' memory; all others are in host memory (Sheng et al., S-LoRA, arXiv:2311.03285,
// section 5; vLLM, vllm/lora/model_manager.py, v0.15). A sequence gets room only if its adapter has
// a slot, or can get one: the least recently used slot whose adapter no sequence uses. The step
// that needs a new adapter waits until it has come over the link to host memory.
//
// In the order of arrival, schedulers pass requests that are Blocked, as vLLM does; in other orders
// they wait, as they do for memory.
type Adapters struct {
	sim.Memory
	tiered sim.TieredMemory // the Memory, if it has tiers
	load   sim.Time         // of one adapter over the host link, at least 0
	slots  int              // at least 1
	// held has the adapters in slots, 0 <= len(held) <= slots. Extend alone changes it.
	held map[int]*adapterSlot
	// oldest is the least recently used slot without users, the start of a ring of all such slots;
	// nil if each slot has users.
	oldest *adapterSlot
	// users says which sequences count in adapterSlot.users: from Extend to Release.
	users sim.PerSequence[bool]

	loads int64    // adapters that came over the link
	busy  sim.Time // time of the load in the last Extend: load, or 0 without one
}

// adapterSlot is a slot with an adapter.
type adapterSlot struct {
	adapter int
	users   int // sequences that hold the slot, at least 0
	// older and newer are neighbours in the ring of Adapters.oldest while users = 0.
	older, newer *adapterSlot
}

// NewAdapters returns a memory with slots for adapters beside it, at least 1; a slot is loaded in
// the given time.
func NewAdapters(m sim.Memory, slots int, load sim.Time) (sim.Memory, error) {
	if slots < 1 || load < 0 {
		return nil, fmt.Errorf("%d slots for adapters that load in %v, want at least 1 in 0s or "+
			"more", slots, load)
	}
	a := &Adapters{Memory: m, load: load, slots: slots, held: map[int]*adapterSlot{}}
	a.tiered, _ = m.(sim.TieredMemory)
	if s, ok := m.(sim.SlotMemory); ok {
		return &slottedAdapters{a, s}, nil
	}
	return a, nil
}

// slottedAdapters is one whose memory can report how its slots are divided.
type slottedAdapters struct {
	*Adapters
	of sim.SlotMemory
}

// Slots implements sim.SlotMemory.
func (a *slottedAdapters) Slots() (all, shared int64) { return a.of.Slots() }

// Room implements sim.SlotMemory.
func (a *slottedAdapters) Room(s *sim.Sequence, stored int) int64 { return a.of.Room(s, stored) }

// Extend implements sim.Memory.
func (a *Adapters) Extend(s *sim.Sequence, n int, reserve int64) bool {
	a.busy = 0
	if s.Adapter == 0 || *a.users.Of(s) {
		return a.Memory.Extend(s, n, reserve)
	}
	if a.Blocked(s) || !a.Memory.Extend(s, n, reserve) {
		return false
	}
	slot := a.held[s.Adapter]
	if slot == nil {
		slot = a.take(s.Adapter)
		a.loads++
		a.busy = a.load
	} else if slot.users == 0 {
		a.unlink(slot)
	}
	slot.users++
	*a.users.Of(s) = true
	return true
}

// Blocked implements sim.AdapterMemory.
func (a *Adapters) Blocked(s *sim.Sequence) bool {
	return s.Adapter != 0 && a.oldest == nil && len(a.held) == a.slots &&
		a.held[s.Adapter] == nil && !*a.users.Of(s)
}

// take gives a slot to an adapter: a new one, or the slot of the adapter that was used least
// recently.
func (a *Adapters) take(adapter int) *adapterSlot {
	slot := &adapterSlot{}
	if len(a.held) == a.slots {
		slot = a.oldest
		a.unlink(slot)
		delete(a.held, slot.adapter)
	}
	slot.adapter = adapter
	a.held[adapter] = slot
	return slot
}

// Release implements sim.Memory.
func (a *Adapters) Release(s *sim.Sequence, done bool) {
	a.Memory.Release(s, done)
	held := a.users.Of(s)
	if !*held {
		return
	}
	*held = false
	slot := a.held[s.Adapter]
	if slot.users--; slot.users > 0 {
		return
	}
	if a.oldest == nil {
		slot.older, slot.newer = slot, slot
		a.oldest = slot
		return
	}
	slot.newer, slot.older = a.oldest, a.oldest.older
	slot.older.newer, a.oldest.older = slot, slot
}

// unlink takes a slot out of those without users.
func (a *Adapters) unlink(slot *adapterSlot) {
	slot.older.newer, slot.newer.older = slot.newer, slot.older
	switch {
	case slot.newer == slot:
		a.oldest = nil
	case a.oldest == slot:
		a.oldest = slot.newer
	}
}

// Fetched implements sim.TieredMemory. The time includes the adapter's.
func (a *Adapters) Fetched() (tokens int64, busy sim.Time) {
	if a.tiered != nil {
		tokens, busy = a.tiered.Fetched()
	}
	return tokens, busy + a.busy
}

// Clock implements sim.ClockedMemory.
func (a *Adapters) Clock(now func() sim.Time) {
	if m, ok := a.Memory.(sim.ClockedMemory); ok {
		m.Clock(now)
	}
}

// Forget implements sim.Forgetter. Adapters without users are dropped, too.
func (a *Adapters) Forget() {
	if f, ok := a.Memory.(sim.Forgetter); ok {
		f.Forget()
	}
	for a.oldest != nil {
		slot := a.oldest
		a.unlink(slot)
		delete(a.held, slot.adapter)
	}
}

// Loads returns how often an adapter was brought from host memory.
func (a *Adapters) Loads() int64 { return a.loads }
