package memory_test

import (
	"io"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/internal/sharedfiles"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// A host tier without end finds the share of blocks that is repeated at all in Mooncake's traces,
// as counted independently: 36.64 and 63.96 % of the blocks of 512 tokens.
func TestInfiniteTierReachesMooncakesCeilings(t *testing.T) {
	const block = 512
	for name, c := range map[string]struct {
		blocks int
		share  float64
	}{
		"conversation_trace.jsonl": {288_500, 0.3664}, "synthetic_trace.jsonl": {121_877, 0.6396},
	} {
		path := sharedfiles.Path(t, "traces", "mooncake", name)
		r, err := trace.Open(path, trace.Options{})
		must.OK(t, err)
		m, err := memory.NewPrefixCache(400, block, memory.Tier{Blocks: 1 << 40})
		must.OK(t, err)
		all, found := 0, 0
		q := &sim.Sequence{}
		for err = r.Read(&q.Request); err == nil; err = r.Read(&q.Request) {
			// A hash stands for its block, also for the last one, which may be shorter. The block
			// after it is left to compute.
			for i := range q.Content {
				q.Content[i].Tokens = block
			}
			all += len(q.Content)
			q.Prompt, q.Output, q.Stored = len(q.Content)*block+1, 1, 0
			q.Stored = m.Match(q)
			found += q.Stored / block
			if !m.Extend(q, q.Prompt-q.Stored, 0) {
				t.Fatalf("%s: no room for %d tokens", name, q.Prompt)
			}
			q.Stored = q.Prompt
			m.Release(q, true)
		}
		r.Close()
		share := float64(found) / float64(all)
		if err != io.EOF || all != c.blocks || math.Abs(share-c.share) > 0.00005 {
			t.Errorf("%s: %d of %d blocks are found, %.4f; want %.4f of %d: %v", name, found, all,
				share, c.share, c.blocks, err)
		}
	}
}
