package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/sim/simtest"
)

// Adapters in slots behave as a list in order of last use says: a request whose adapter has a slot
// costs nothing, one whose adapter can get the oldest slot without users waits for the load, and
// one for which all slots are in use gets no room.
func TestAdapterSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const load = 7 * sim.Millisecond
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		inner, err := memory.NewPaged(1000, 1)
		testkit.OK(t, err)
		m, err := memory.NewAdapters(inner, slots, load)
		testkit.OK(t, err)
		var held []int // adapters, the least recently freed first
		users := map[int]int{}
		var running []*sim.Sequence
		loads := int64(0)
		for id := range int64(rapid.IntRange(1, 60).Draw(t, "events")) {
			if len(running) > 0 && rapid.Bool().Draw(t, "leaves") {
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				s := running[i]
				running = append(running[:i], running[i+1:]...)
				m.Release(s, true)
				if users[s.Adapter]--; s.Adapter > 0 && users[s.Adapter] == 0 {
					held = append(without(held, s.Adapter), s.Adapter)
				}
				continue
			}
			s := &sim.Sequence{Request: sim.Request{ID: id, Prompt: 3, Output: 1,
				Adapter: rapid.IntRange(0, 6).Draw(t, "adapter")}, Slot: int(id)}
			a, want, room := s.Adapter, sim.Time(0), true
			if a > 0 && !contains(held, a) {
				want = load
				if len(held) == slots {
					free := -1
					for _, h := range held {
						if users[h] == 0 {
							free = h
							break
						}
					}
					room = free >= 0
					held = without(held, free)
				}
				if room {
					held = append(held, a)
					loads++
				}
			}
			if got := m.Extend(s, 3, 0); got != room {
				t.Fatalf("adapter %d has room: %t, want %t; held %v, users %v", a, got, room, held,
					users)
			}
			if !room {
				continue
			}
			users[a]++
			running = append(running, s)
			if _, busy := m.(sim.TieredMemory).Fetched(); busy != want {
				t.Fatalf("adapter %d loads in %v, want %v", a, busy, want)
			}
		}
		if got := m.(interface{ Loads() int64 }).Loads(); got != loads {
			t.Fatalf("%d loads, want %d", got, loads)
		}
		for _, s := range running {
			m.Release(s, true)
		}
		if m.Used() != 0 {
			t.Fatalf("%d units are left", m.Used())
		}
	})
}

func without(list []int, x int) (rest []int) {
	for _, y := range list {
		if y != x {
			rest = append(rest, y)
		}
	}
	return rest
}

func contains(list []int, x int) bool { return len(without(list, x)) < len(list) }

// With adapters beside it, a memory keeps the contract of package sim: leaping equals stepping, all
// requests end, all is given back.
func TestAdaptersKeepTheContract(t *testing.T) {
	simtest.Check(t, simtest.Policies{Memory: func() sim.Memory {
		inner, err := memory.NewPrefixCache(100, 4)
		testkit.OK(t, err)
		m, err := memory.NewAdapters(inner, 2, 3*sim.Millisecond)
		testkit.OK(t, err)
		return m
	}})
}
