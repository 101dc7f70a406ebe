package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/must"
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
		must.OK(t, err)
		var caches []*memory.PrefixCache
		var pooled []*memory.Pooled
		for range 3 {
			c, err := memory.NewTiered(8, tierBlock,
				memory.Tiering{Through: rapid.Bool().Draw(t, "through")},
				memory.Tier{Blocks: host}, memory.Tier{Blocks: 5})
			must.OK(t, err)
			p, err := memory.NewPooled(c, pool, 10, sim.Microsecond)
			must.OK(t, err)
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
			pooled[i].Bring(q)
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
