package memory

import (
	"testing"

	"pgregory.net/rapid"
)

// The table of names is a map, also where many names belong in the same slots. A quarter of the
// slots stays free.
func TestNamesAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table names
		want := map[uint64]int32{}
		drawn := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(0, 5).Draw(t, "home")<<61 |
				rapid.Uint64Range(1, 9).Draw(t, "n")
		}), 1, 200).Draw(t, "names")
		for i, name := range drawn {
			if rapid.IntRange(0, 2).Draw(t, "removes") == 0 {
				table.remove(name)
				delete(want, name)
			} else {
				table.set(name, int32(i))
				want[name] = int32(i)
			}
			if table.n != len(want) || 4*table.n > 3*len(table.slots) {
				t.Fatalf("%d names in %d slots, counted %d", len(want), len(table.slots), table.n)
			}
			for _, name := range drawn {
				n, ok := table.find(name)
				if m, there := want[name]; ok != there || ok && n != m {
					t.Fatalf("%x is %d (%t), want %d (%t)", name, n, ok, m, there)
				}
			}
		}
		table.remove(0)
		if table.n != len(want) {
			t.Fatalf("%d names, want %d", table.n, len(want))
		}
	})
}
