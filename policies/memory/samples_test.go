package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Samples of the same prompt share its full blocks, and each has a copy of the last one, in which
// they differ: ⌊P/B⌋ + n·(⌈S/B⌉ − ⌊P/B⌋) blocks hold n samples of S tokens after a prompt of P
// (Kwon et al., PagedAttention, SOSP 2023, section 4.4).
func TestSamplesShareTheirPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.IntRange(1, 20).Draw(t, "block")
		prompt, output := rapid.IntRange(1, 200).Draw(t, "prompt"), rapid.IntRange(1, 90).Draw(t,
			"output")
		n := rapid.IntRange(1, 6).Draw(t, "samples")
		m, err := memory.NewPrefixCache(10_000, block)
		testkit.OK(t, err)
		for i := range n {
			s := &sim.Sequence{Slot: i, Request: sim.Request{ID: int64(i), Prompt: prompt,
				Output: output, Content: []sim.Segment{{ID: 7, Tokens: prompt}}}}
			s.Stored = m.Match(s)
			if !m.Extend(s, prompt-s.Stored, 0) {
				t.Fatal("no room")
			}
			s.Stored, s.Generated = prompt, output
			if !m.Extend(s, output, 0) {
				t.Fatal("no room")
			}
		}
		up := func(tokens int) int { return (tokens + block - 1) / block }
		want := prompt/block + n*(up(prompt+output)-prompt/block)
		if got := m.Used(); got != int64(want) {
			t.Fatalf("%d blocks, want %d", got, want)
		}
	})
}
