package memory_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// Whatever prompts come, cut into whatever chunks: a cache finds the images that a list in order of
// use finds, and each image of a prompt is asked for once.
func TestEncodingsAreAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 3).Draw(t, "count")
		tokens := rapid.IntRange(1, 9).Draw(t, "tokens")
		size := rapid.IntRange(1, 60).Draw(t, "size")
		cache, err := memory.NewEncodings(size, count, tokens)
		testkit.OK(t, err)
		type image struct{ text, at int }
		var held []image
		for id := range rapid.IntRange(1, 30).Draw(t, "prompts") {
			text := rapid.IntRange(1, 4).Draw(t, "text")
			shared := rapid.IntRange(0, 30).Draw(t, "shared")
			s := &sim.Sequence{Request: sim.Request{ID: int64(id), Prompt: 40, Output: 1}}
			if shared > 0 {
				s.Content = []sim.Segment{{ID: uint64(text), Tokens: shared}}
			}
			found, want := 0, 0
			for s.Stored < s.Prompt {
				n := min(s.Prompt-s.Stored, rapid.IntRange(1, 40).Draw(t, "chunk"))
				found += cache.Encoded(s, n)
				s.Stored += n
			}
			for i := range count {
				if i*tokens >= s.Prompt {
					break
				}
				name := image{text, i}
				if (i+1)*tokens > shared {
					name.text = -1 - id
				}
				if at := slices.Index(held, name); at >= 0 {
					want++
					held = slices.Delete(held, at, at+1)
				} else if len(held) == max(1, size/tokens) {
					held = held[1:]
				}
				held = append(held, name)
			}
			if found != want {
				t.Fatalf("prompt %d finds %d images, want %d; kept are %v", id, found, want, held)
			}
		}
		cache.Forget()
		s := &sim.Sequence{Request: sim.Request{Prompt: 40, Content: []sim.Segment{{ID: 1,
			Tokens: 40}}}}
		if n := cache.Encoded(s, 1); n != 0 {
			t.Fatalf("%d images are found after all were forgotten", n)
		}
	})
	if _, err := memory.NewEncodings(0, 1, 1); err == nil {
		t.Error("a cache of no tokens is made")
	}
}
