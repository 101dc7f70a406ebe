package memory_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Once a request has computed a pinned text, all later ones find its full blocks on the
// accelerator, whatever else comes and goes. A request that fits always gets room when it is alone,
// the memory counts pinned blocks as used, and gives them up when the replica fails.
func TestPinnedTextsStay(t *testing.T) {
	const block = 16
	rapid.Check(t, func(t *rapid.T) {
		var texts []sim.Segment
		reserved := 0
		for id := range rapid.IntRange(1, 3).Draw(t, "pinned") {
			s := sim.Segment{ID: uint64(id) + 1,
				Tokens: rapid.IntRange(1, 6*block).Draw(t, "tokens")}
			texts = append(texts, s)
			reserved += s.Tokens / block
		}
		var lower []memory.Tier
		for range rapid.IntRange(0, 2).Draw(t, "tiers") {
			lower = append(lower, memory.Tier{Blocks: int64(rapid.IntRange(1, 30).Draw(t,
				"tier")), Fetch: sim.Microsecond})
		}
		tiering := memory.Tiering{Frequent: rapid.Bool().Draw(t, "frequent"),
			Through: len(lower) > 0 && rapid.Bool().Draw(t, "through")}
		m, err := memory.NewTiered(int64(reserved+rapid.IntRange(8, 30).Draw(t, "others")), block,
			tiering, lower...)
		testkit.OK(t, err)
		testkit.OK(t, m.Pin(slices.Values(texts)))
		var running []*sim.Sequence
		computed := map[uint64]bool{}
		release := func(i int) {
			m.Release(running[i], true)
			running = slices.Delete(running, i, i+1)
		}
		for id := range rapid.IntRange(1, 60).Draw(t, "requests") {
			text := rapid.SampledFrom(append(texts, sim.Segment{ID: 9, Tokens: 3 * block})).Draw(t,
				"text")
			own := rapid.IntRange(1, 4*block).Draw(t, "own")
			q := &sim.Sequence{Slot: id, Request: sim.Request{ID: int64(id), Output: 1,
				Prompt:  text.Tokens + own,
				Content: []sim.Segment{text, {ID: uint64(id) + 100, Tokens: own}}}}
			if !m.Fits(q.Prompt) {
				continue
			}
			q.Stored = m.Match(q)
			whole := text.Tokens / block * block
			if computed[text.ID] && q.Stored < min(whole, (q.Prompt-1)/block*block) {
				t.Fatalf("request %d finds %d tokens of %v", id, q.Stored, text)
			}
			for !m.Extend(q, q.Prompt-q.Stored, 0) {
				if len(running) == 0 {
					t.Fatalf("request %d of %d tokens fits and gets no room", id, q.Prompt)
				}
				release(rapid.IntRange(0, len(running)-1).Draw(t, "released"))
				q.Stored = 0
				q.Stored = m.Match(q)
			}
			if fetched, _ := m.Fetched(); computed[text.ID] && fetched > int64(q.Stored-whole) {
				t.Fatalf("request %d fetches %d of %d tokens, %d of them pinned", id, fetched,
					q.Stored, whole)
			}
			q.Stored = q.Prompt
			running = append(running, q)
			computed[text.ID] = text.ID != 9
		}
		for len(running) > 0 {
			release(0)
		}
		want := 0
		for _, s := range texts {
			if computed[s.ID] {
				want += s.Tokens / block
			}
		}
		if m.Used() != int64(want) {
			t.Fatalf("%d blocks are used, want the %d pinned ones", m.Used(), want)
		}
		if m.Forget(); m.Used() != 0 {
			t.Fatalf("%d blocks are used after Forget", m.Used())
		}
	})
}

// Texts that take all of the memory cannot be pinned.
func TestTooManyPins(t *testing.T) {
	m, err := memory.NewPrefixCache(10, 16)
	testkit.OK(t, err)
	if err := m.Pin(slices.Values([]sim.Segment{{ID: 1, Tokens: 100},
		{ID: 2, Tokens: 64}})); err == nil {
		t.Error("10 of 10 blocks are pinned")
	}
}
