package validation_test

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// A cache without limit finds 36.6 % of the blocks of 512 tokens in Mooncake's conversation trace
// (Mooncake, FAST 2025).
func TestMooncakeInfiniteCache(t *testing.T) {
	path := testkit.Shared(t, "traces", "mooncake", "conversation_trace.jsonl")
	source, err := workload.Open(workload.Config{Trace: &workload.Trace{Path: path}})
	testkit.OK(t, err)
	defer source.Close()
	seen := map[uint64]bool{}
	var blocks, found int
	var r sim.Request
	for source.NextArrival() != sim.Never {
		source.Next(&r)
		for _, s := range r.Content {
			blocks++
			if seen[s.ID] {
				found++
			}
			seen[s.ID] = true
		}
	}
	testkit.OK(t, source.Err())
	if got := math.Round(1000 * float64(found) / float64(blocks)); got != 366 {
		t.Errorf("%.1f%% of %d blocks found, want 36.6%%", got/10, blocks)
	}
}
