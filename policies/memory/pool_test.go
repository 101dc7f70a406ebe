package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Replicas with a pool that holds everything find at each of them what one memory without end
// finds. With less room they never find more, and hold nothing in the end.
func TestPoolIsSharedByReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ample := rapid.Bool().Draw(t, "ample")
		host, room := int64(1000), int64(1000)
		if !ample {
			host = rapid.Int64Range(1, 30).Draw(t, "host")
			room = rapid.Int64Range(1, 30).Draw(t, "pool")
		}
		pool, err := memory.NewPool(room, tierBlock)
		testkit.OK(t, err)
		var caches []*memory.PrefixCache
		var pooled []*memory.Pooled
		for range 3 {
			c, err := memory.NewTiered(8, tierBlock,
				memory.Tiering{Through: rapid.Bool().Draw(t, "through")},
				memory.Tier{Blocks: host}, memory.Tier{Blocks: 5})
			testkit.OK(t, err)
			p, err := memory.NewPooled(c, pool, 10, sim.Microsecond)
			testkit.OK(t, err)
			caches, pooled = append(caches, c), append(pooled, p)
		}
		var all stack
		for id, blocks := range branches(t) {
			i := rapid.IntRange(0, 2).Draw(t, "replica")
			q := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 1}}
			for _, b := range blocks {
				q.Content = append(q.Content, sim.Segment{ID: b, Tokens: tierBlock})
			}
			q.Prompt = tierBlock * len(blocks)
			here := caches[i].Match(q) / tierBlock
			bytes := pooled[i].Wanted(q)
			if bytes > 0 { // else the simulator brings nothing
				pooled[i].Bring(q)
			}
			want := hits(all.serve(blocks), 1000)
			found := serveOne(t, caches[i], id, blocks)
			if found > want || ample && found < want || found < here {
				t.Fatalf("request %d finds %d blocks, want %d; %d were there", id, found,
					want, here)
			}
			if ample && bytes != int64(10*(want-here)) {
				t.Fatalf("%d bytes are wanted of the pool, want %d", bytes, 10*(want-here))
			}
			if size, keep := pooled[i].Offer(q); size > 0 {
				keep()
			}
		}
		for _, c := range caches {
			if c.Forget(); c.Used() != 0 {
				t.Fatalf("%d blocks are in use", c.Used())
			}
		}
	})
}

// The last token of a prompt is always computed, so that of a prompt that ends with a block, the
// pool gives all blocks except the last.
func TestPoolLeavesATokenToCompute(t *testing.T) {
	pool, err := memory.NewPool(100, tierBlock)
	testkit.OK(t, err)
	replica := func() (*memory.PrefixCache, *memory.Pooled) {
		c, err := memory.NewPrefixCache(100, tierBlock, memory.Tier{Blocks: 100})
		testkit.OK(t, err)
		p, err := memory.NewPooled(c, pool, 10, sim.Microsecond)
		testkit.OK(t, err)
		return c, p
	}
	text := func(tokens int) *sim.Sequence {
		return &sim.Sequence{Request: sim.Request{Prompt: tokens, Output: 1,
			Content: []sim.Segment{{ID: 1, Tokens: tokens}}}}
	}
	_, first := replica()
	size, keep := first.Offer(text(5*tierBlock + 3))
	if size != 50 {
		t.Errorf("a text of five blocks and three tokens takes %d bytes", size)
	}
	keep()
	for tokens, want := range map[int]int{
		3 * tierBlock: 2, 3*tierBlock + 1: 3, 3*tierBlock - 1: 2, 1: 0, 6 * tierBlock: 5,
	} {
		c, other := replica()
		q := text(tokens)
		q.Content[0].Tokens = 5*tierBlock + 3
		if q.Prompt > q.Content[0].Tokens {
			q.Content = append(q.Content,
				sim.Segment{ID: 2, Tokens: q.Prompt - q.Content[0].Tokens})
		} else {
			q.Content[0].Tokens = q.Prompt
		}
		if got := other.Wanted(q); got != int64(10*want) {
			t.Errorf("%d tokens want %d bytes of the pool, not %d", tokens, got, 10*want)
		}
		other.Bring(q)
		if got := c.Match(q); got != want*tierBlock {
			t.Errorf("%d of %d tokens are there, want %d", got, tokens, want*tierBlock)
		}
	}
}
