package memory_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// tree draws the request number id: a path in a tree of texts, of whole blocks.
func tree(t *rapid.T, id, block int) *sim.Sequence {
	q := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 1}}
	name := uint64(1)
	for range rapid.IntRange(1, 5).Draw(t, "segments") {
		name = name*4 + rapid.Uint64Range(0, 2).Draw(t, "branch")
		tokens := block * int(1+name%3)
		q.Content = append(q.Content, sim.Segment{ID: name, Tokens: tokens})
		q.Prompt += tokens
	}
	return q
}

// serveAlone lets a request begin and end, and returns what it found.
func serveAlone(t *rapid.T, m *memory.PrefixCache, q *sim.Sequence) (found int) {
	q.Stored = m.Match(q)
	found = q.Stored
	if !m.Extend(q, q.Prompt-found, 0) {
		t.Fatalf("request %d has no room", q.ID)
	}
	q.Stored = q.Prompt
	m.Release(q, true)
	return found
}

// A memory that begins with the contents of another finds from then on what the other finds, with
// every order of eviction and any tiers. Its own contents are the same.
func TestContentsAreRestored(t *testing.T) {
	const block = 16
	rapid.Check(t, func(t *rapid.T) {
		var lower []memory.Tier
		for range rapid.IntRange(0, 3).Draw(t, "tiers") {
			lower = append(lower, memory.Tier{Blocks: rapid.Int64Range(1, 40).Draw(t, "tier")})
		}
		tiering := memory.Tiering{Frequent: rapid.Bool().Draw(t, "lfu"),
			Through: len(lower) > 0 && rapid.Bool().Draw(t, "through")}
		if !tiering.Frequent {
			tiering.TTL = rapid.SampledFrom([]sim.Time{0, 9}).Draw(t, "ttl")
		}
		size, now := rapid.Int64Range(20, 60).Draw(t, "blocks"), sim.Time(0)
		build := func(clock func() sim.Time) *memory.PrefixCache {
			m, err := memory.NewTiered(size, block, tiering, lower...)
			testkit.OK(t, err)
			m.Clock(clock)
			return m
		}
		m := build(func() sim.Time { return now })
		for id := range rapid.IntRange(0, 40).Draw(t, "requests") {
			serveAlone(t, m, tree(t, id, block))
			now++
		}
		kept, err := m.Contents()
		testkit.OK(t, err)
		text, err := json.Marshal(kept)
		testkit.OK(t, err)
		var read memory.Contents
		testkit.OK(t, json.Unmarshal(text, &read))
		begin := now
		again := build(func() sim.Time { return now - begin })
		testkit.OK(t, again.Restore(&read))
		if m.Filled() != again.Filled() {
			t.Fatalf("%v of the memory is full, then %v", m.Filled(), again.Filled())
		}
		same, err := again.Contents()
		testkit.OK(t, err)
		same.Runs--
		if diff := cmp.Diff(kept, same); diff != "" {
			t.Fatal(diff)
		}
		for id := range rapid.IntRange(1, 40).Draw(t, "more") {
			q := tree(t, 100+id, block)
			twin := *q
			if a, b := serveAlone(t, m, q), serveAlone(t, again, &twin); a != b {
				t.Fatalf("request %d finds %d tokens, and %d with what was restored", id, a, b)
			}
			now++
		}
	})
}

// Contents that no memory can have are refused, and memory of any size takes all others.
func FuzzRestore(f *testing.F) {
	m, err := memory.NewPrefixCache(30, 16, memory.Tier{Blocks: 30})
	testkit.OK(f, err)
	for id := range 9 {
		q := &sim.Sequence{Request: sim.Request{ID: int64(id), Prompt: 96, Output: 1}}
		q.Content = []sim.Segment{{ID: 1, Tokens: 24}, {ID: uint64(id), Tokens: 72}}
		q.Stored = m.Match(q)
		m.Extend(q, q.Prompt-q.Stored, 0)
		q.Stored = q.Prompt
		m.Release(q, true)
	}
	kept, err := m.Contents()
	testkit.OK(f, err)
	text, err := json.Marshal(kept)
	testkit.OK(f, err)
	f.Add(text, uint8(9))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		var c memory.Contents
		if json.Unmarshal(text, &c) != nil {
			return
		}
		m, err := memory.NewPrefixCache(1+int64(size), 16, memory.Tier{Blocks: 5})
		if err != nil || m.Restore(&c) != nil {
			return
		}
		if used := m.Used(); used != 0 || m.Filled() > 1 {
			t.Fatalf("%d blocks are used, and %v of all are full", used, m.Filled())
		}
		q := &sim.Sequence{Request: sim.Request{Prompt: 16, Output: 1}}
		if !m.Extend(q, 16, 0) {
			t.Fatal("there is no room for a block")
		}
	})
}
