package memory_test

import (
	"container/list"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// serveTrace serves the requests of one of Mooncake's traces, one at a time, by a memory of 400
// blocks of 512 tokens over a tier. It calls served with the blocks of each and the number of those
// that were found.
func serveTrace(t *testing.T, name string, tier int64, served func(blocks []uint64, found int)) {
	const block = 512
	r, err := trace.Open(testkit.Shared(t, "traces", "mooncake", name), trace.Options{})
	testkit.OK(t, err)
	defer r.Close()
	m, err := memory.NewPrefixCache(400, block, memory.Tier{Blocks: tier})
	testkit.OK(t, err)
	q, blocks := &sim.Sequence{}, []uint64(nil)
	for err = r.Read(&q.Request); err == nil; err = r.Read(&q.Request) {
		// A hash stands for its block, also for the last one, which may be shorter. The token after
		// it is left to compute, in room that is given back before the next request.
		blocks = blocks[:0]
		for i := range q.Content {
			q.Content[i].Tokens = block
			blocks = append(blocks, q.Content[i].ID)
		}
		q.Prompt, q.Output, q.Stored = len(q.Content)*block+1, 1, 0
		q.Stored = m.Match(q)
		served(blocks, q.Stored/block)
		if !m.Extend(q, len(q.Content)*block-q.Stored, 0) {
			t.Fatalf("%s: no room for %d tokens", name, q.Prompt)
		}
		q.Stored = q.Prompt - 1
		m.Release(q, true)
	}
	if err != io.EOF {
		t.Fatal(err)
	}
}

// A host tier without end finds the share of blocks that is repeated at all in Mooncake's traces,
// as counted independently: 36.64 and 63.96 % of the blocks of 512 tokens.
func TestInfiniteTierReachesMooncakesCeilings(t *testing.T) {
	for name, c := range map[string]struct {
		blocks int
		share  float64
	}{
		"conversation_trace.jsonl": {288_500, 0.3664}, "synthetic_trace.jsonl": {121_877, 0.6396},
	} {
		all, found := 0, 0
		serveTrace(t, name, 1<<40, func(blocks []uint64, n int) {
			all, found = all+len(blocks), found+n
		})
		share := float64(found) / float64(all)
		if all != c.blocks || math.Abs(share-c.share) > 0.00005 {
			t.Errorf("%s: %d of %d blocks are found, %.4f; want %.4f of %d", name, found, all,
				share, c.share, c.blocks)
		}
	}
}

// With a host tier of any size, each request of Mooncake's traces finds what a list of the blocks
// in the order of their last use has, cut at that size.
func TestFiniteTiersAreStacksInMooncakesTraces(t *testing.T) {
	for _, name := range []string{"conversation_trace.jsonl", "synthetic_trace.jsonl"} {
		last := 0
		for _, size := range []int{1000, 5859, 20_000} { // 5,859 blocks are 3 million tokens
			order, at := list.New(), map[uint64]*list.Element{}
			sum := 0
			serveTrace(t, name, int64(size-400), func(blocks []uint64, found int) {
				want := 0
				for want < len(blocks) && at[blocks[want]] != nil {
					want++
				}
				if found != want {
					t.Fatalf("%s, %d blocks: a request finds %d, want %d", name, size, found, want)
				}
				sum += found
				for _, b := range slices.Backward(blocks) {
					if at[b] == nil {
						at[b] = order.PushFront(b)
					} else {
						order.MoveToFront(at[b])
					}
				}
				for order.Len() > size {
					delete(at, order.Remove(order.Back()).(uint64))
				}
			})
			if sum < last {
				t.Errorf("%s: %d blocks are found in %d, fewer than in less", name, sum, size)
			}
			last = sum
		}
	}
}
