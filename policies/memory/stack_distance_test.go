package memory_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// stack is blocks in the order of their last use, the newest first (Mattson et al., IBM Systems
// Journal 9(2), 1970): an LRU cache of any size holds the first of them.
type stack []uint64

// serve returns the depths of the blocks of a request, −1 for new ones, and uses them:
// the first block of the request last, since more requests share it.
func (s *stack) serve(blocks []uint64) (depths []int) {
	for _, b := range blocks {
		depths = append(depths, slices.Index(*s, b))
	}
	for _, b := range slices.Backward(blocks) {
		if i := slices.Index(*s, b); i >= 0 {
			*s = slices.Delete(*s, i, i+1)
		}
		*s = slices.Insert(*s, 0, b)
	}
	return depths
}

// hits counts the leading blocks that are less than size deep.
func hits(depths []int, size int) int {
	n := slices.IndexFunc(depths, func(d int) bool { return d < 0 || d >= size })
	if n < 0 {
		return len(depths)
	}
	return n
}

// Each request finds exactly the blocks that stack distances say, in the accelerator's memory and
// in the tiers below it together, and as many come from below as lie deeper than the first.
func TestTiersEqualStackDistances(t *testing.T) {
	const block = 16
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.IntRange(6, 20).Draw(t, "blocks")
		size, lower := top, []memory.Tier(nil)
		for range rapid.IntRange(0, 3).Draw(t, "tiers") {
			tier := rapid.IntRange(1, 30).Draw(t, "tier")
			lower = append(lower, memory.Tier{Blocks: int64(tier), Fetch: sim.Microsecond})
			size += tier
		}
		m, err := memory.NewPrefixCache(int64(top), block, lower...)
		testkit.OK(t, err)
		var order stack
		for id := range rapid.IntRange(1, 80).Draw(t, "requests") {
			// A path in a tree of texts, whose branches are numbers, and a block of its own.
			q := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 1}}
			name, blocks := uint64(1), []uint64(nil)
			for range rapid.IntRange(0, 4).Draw(t, "shared") {
				name = name*4 + rapid.Uint64Range(0, 2).Draw(t, "branch")
				blocks = append(blocks, name)
			}
			blocks = append(blocks, uint64(id)<<32)
			for _, b := range blocks {
				q.Content = append(q.Content, sim.Segment{ID: b, Tokens: block})
			}
			q.Prompt = block * len(blocks)
			depths := order.serve(blocks)
			found := m.Match(q)
			if want := hits(depths, size) * block; found != want {
				t.Fatalf("request %d finds %d tokens, want %d: depths %v of %d", id, found, want,
					depths, size)
			}
			q.Stored = found
			if !m.Extend(q, q.Prompt-found, 0) {
				t.Fatalf("request %d has no room", id)
			}
			deep := (hits(depths, size) - hits(depths, top)) * block
			if tokens, _ := m.Fetched(); tokens != int64(deep) {
				t.Fatalf("request %d fetches %d tokens, want %d: depths %v of %d", id, tokens, deep,
					depths, top)
			}
			q.Stored = q.Prompt
			m.Release(q, true)
		}
	})
}
