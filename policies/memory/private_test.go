package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// What belongs to one request alone, as the end of its prompt, leaves nothing behind: only full
// blocks of shared text are kept, and nothing is in use.
func TestOnlySharedTextIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := memory.NewPrefixCache(1000, tierBlock)
		testkit.OK(t, err)
		want := int64(0)
		for id := range rapid.IntRange(1, 8).Draw(t, "requests") {
			shared := rapid.IntRange(0, 60).Draw(t, "shared")
			q := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 40,
				Prompt: max(1, shared+rapid.IntRange(0, 60).Draw(t, "private"))}}
			if shared > 0 {
				q.Content = []sim.Segment{{ID: uint64(100 + id), Tokens: shared}}
			}
			if c.Match(q) != 0 || !c.Extend(q, q.Prompt, 0) {
				t.Fatal("found something, or no room")
			}
			q.Stored = q.Prompt
			for q.Generated = 1; q.Generated < q.Output; q.Generated++ {
				if !c.Extend(q, 1, 0) {
					t.Fatal("no room for an answer")
				}
				q.Stored++
			}
			c.Release(q, true)
			want += int64(shared / tierBlock)
		}
		kept, err := c.Contents()
		testkit.OK(t, err)
		got := int64(0)
		for _, tier := range kept.Tiers {
			for _, run := range tier {
				got += run.Blocks
			}
		}
		if got != want || c.Used() != 0 {
			t.Fatalf("%d blocks are kept, want %d; %d are in use", got, want, c.Used())
		}
	})
}
