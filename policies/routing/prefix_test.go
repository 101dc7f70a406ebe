package routing

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A PrefixAware remembers the beginnings that were recorded last, each with the replica that got it
// last: a beginning is forgotten after as many others as there is room for were recorded for the
// first time. names and places tell the same.
func TestBeginningsAreForgottenInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := NewPrefixAware(rapid.IntRange(1, 5).Draw(t, "capacity"), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var names []uint64 // in the order in which they were first recorded
		last := map[uint64]int{}
		for replica := range rapid.IntRange(0, 40).Draw(t, "records") {
			name := rapid.Uint64Range(1, 9).Draw(t, "name")
			p.recordPlace(name, replica)
			last[name] = replica
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			names = names[max(0, len(names)-p.capacity):]
			if len(p.places) != len(names) || len(p.names) != len(names) {
				t.Fatalf("%d places of %d names, want %d", len(p.places), len(p.names), len(names))
			}
			for _, name := range names {
				at, known := p.places[name]
				if !known || at.replica != last[name] || p.names[at.slot] != name {
					t.Fatalf("%d is at %+v (%t) among %v, want %d", name, at, known, p.names,
						last[name])
				}
			}
		}
	})
}
