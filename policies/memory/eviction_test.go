package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// Whatever the order of eviction and the number of tiers, what a block continues is stored as long
// as the block is, in the same tier or a faster one, and no tier holds more than it has room for.
func TestBeginningsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := Tiering{Frequent: rapid.Bool().Draw(t, "frequent"),
			Through: rapid.Bool().Draw(t, "through")}
		var lower []Tier
		for range rapid.IntRange(1, 3).Draw(t, "lower tiers") {
			lower = append(lower, Tier{Blocks: rapid.Int64Range(1, 8).Draw(t, "blocks")})
		}
		p, err := NewTiered(12, 2, order, lower...)
		testkit.OK(t, err)
		pool, err := NewPool(30, 2)
		testkit.OK(t, err)
		pooled, err := NewPooled(p, pool, 1, 0)
		testkit.OK(t, err)
		for id := range rapid.IntRange(1, 80).Draw(t, "requests") {
			tokens := rapid.IntRange(1, 22).Draw(t, "tokens")
			s := &sim.Sequence{Request: sim.Request{ID: int64(id), Prompt: tokens, Output: 1,
				Content: []sim.Segment{{ID: rapid.Uint64Range(1, 4).Draw(t, "text"),
					Tokens: tokens}}}}
			if pooled.Wanted(s) > 0 {
				pooled.Bring(s)
				checkTree(t, p)
			}
			s.Stored = p.Match(s)
			if !p.Extend(s, tokens-s.Stored, 0) {
				t.Fatalf("no room for %d tokens", tokens)
			}
			s.Stored = tokens
			checkTree(t, p)
			p.Release(s, true)
			checkTree(t, p)
			if _, keep := pooled.Offer(s); keep != nil {
				keep()
			}
			if rapid.IntRange(0, 20).Draw(t, "fails") == 0 {
				p.Forget()
				checkTree(t, p)
			}
		}
	})
}

func checkTree(t *rapid.T, p *PrefixCache) {
	tree := &p.tree
	held := make([]int64, len(tree.tiers))
	for _, s := range tree.byName.slots {
		if s.name == 0 {
			continue
		}
		n := &tree.nodes[s.number]
		if n.name != s.name || n.blocks < 1 {
			t.Fatalf("block %x has node %d, which is %+v", s.name, s.number, *n)
		}
		if n.users == 0 {
			held[n.tier] += n.blocks
		}
		before := &tree.nodes[n.parent]
		parent, _ := tree.byName.find(before.name)
		if n.parent != 0 && (parent != n.parent || before.tier > n.tier) {
			t.Fatalf("node %+v in tier %d continues %+v of tier %d", *n, n.tier, *before,
				before.tier)
		}
	}
	for i := 1; i < len(held); i++ {
		if of := &tree.tiers[i]; held[i] > of.unused || of.unused > of.Blocks {
			t.Fatalf("tier %d of %d blocks counts %d and holds %d", i, of.Blocks, of.unused,
				held[i])
		}
	}
}
