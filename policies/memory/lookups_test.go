package memory

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// A prompt of 100,000 tokens costs a look-up for each of its blocks at most when it is matched, and
// as many when its blocks are taken. Its chunks and the steps of its answer look nothing up again,
// and what one sequence has stored as a whole costs one look-up.
func TestLongPromptsLookUpTheirBlocksOnce(t *testing.T) {
	const block, blocks, chunk, rest = 16, 6250, 2048, 20_000
	prompt := func(id int64, shared, own int) *sim.Sequence {
		return &sim.Sequence{Request: sim.Request{ID: id, Prompt: shared + own, Output: 300,
			Content: []sim.Segment{{ID: 1, Tokens: shared},
				{ID: 2 + uint64(id), Tokens: own}}}}
	}
	p, err := NewPrefixCache(30*blocks, block, Tier{Blocks: blocks, Fetch: 1})
	testkit.OK(t, err)
	taken := func(s *sim.Sequence) (toMatch, toServe int64) {
		start := p.tree.lookups
		if n := p.Match(s); n != blocks*block {
			t.Fatalf("%d tokens are found, want %d", n, blocks*block)
		}
		toMatch, start = p.tree.lookups-start, p.tree.lookups
		for s.Stored = blocks * block; s.Remaining() > 0; {
			n := min(s.Remaining(), chunk)
			if !p.Extend(s, n, 0) {
				t.Fatal("does not fit")
			}
			s.Stored += n
		}
		p.Join(0, s)
		p.Advance(0, int64(s.Output)-1)
		s.Generated = s.Output
		p.Leave(0, s)
		p.Release(s, true)
		return toMatch, p.tree.lookups - start
	}
	const chunks = rest/chunk + 1
	var s sim.Sequence
	serve(t, p, &s, prompt(0, blocks*block, block).Request)
	if match, serve := taken(prompt(1, blocks*block, rest)); match > 2 || serve > 2+chunks {
		t.Errorf("a whole run is looked up %d times to be matched and %d to be served", match,
			serve)
	}
	// Texts that leave the first one after each of its blocks divide it into that many runs.
	for n := blocks - 1; n > 0; n-- {
		serve(t, p, &s, prompt(int64(1+n), n*block, block).Request)
	}
	other := prompt(2*blocks, blocks*block, rest)
	if n := testing.AllocsPerRun(1, func() { p.Match(other) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	match, serve := taken(prompt(3*blocks, blocks*block, rest))
	if match > blocks+1 || serve > blocks+1+chunks {
		t.Errorf("%d blocks are looked up %d times to be matched and %d to be served", blocks,
			match, serve)
	}
	if match < blocks {
		t.Errorf("%d look-ups of %d blocks: they are not apart", match, blocks)
	}
}
