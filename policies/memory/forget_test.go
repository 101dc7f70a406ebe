package memory_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// After Forget nothing is found, in whatever tier it was, and all the room is there.
func TestForget(t *testing.T) {
	m, err := memory.NewPrefixCache(10, 16, memory.Tier{Blocks: 20, Fetch: sim.Microsecond})
	testkit.OK(t, err)
	serve := func(text uint64) (found int) {
		s := &sim.Sequence{Request: sim.Request{Prompt: 129, Output: 1,
			Content: []sim.Segment{{ID: text, Tokens: 129}}}}
		found = m.Match(s)
		s.Stored = found
		if !m.Extend(s, 129-found, 0) {
			t.Fatal("no room")
		}
		s.Stored = 129
		m.Release(s, true)
		return found
	}
	serve(1)
	serve(2) // text 1 moves down
	if serve(1) == 0 || serve(2) == 0 {
		t.Fatal("nothing was kept")
	}
	m.Forget()
	if n := serve(1); n != 0 {
		t.Errorf("%d tokens of text 1 are known after Forget", n)
	}
	m.Forget()
	if n := serve(2); n != 0 || m.Used() != 0 {
		t.Errorf("%d tokens of text 2 are known after Forget, %d blocks used", n, m.Used())
	}
}
