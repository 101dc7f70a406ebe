package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// What a windowed memory says of the sequences of a lane is the sum over each of them: they take
// what Units says in the steps to come, and Headroom ends where that is too much or where a window
// is full, whatever steps passed before.
func TestLanesOfWindowsAreTheirSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := memory.NewWindowed(rapid.Int64Range(30, 90).Draw(t, "blocks"),
			rapid.IntRange(1, 5).Draw(t, "block"), memory.Layers{
				Full: rapid.IntRange(0, 2).Draw(t, "full"), Windowed: 1,
				Window: rapid.IntRange(1, 20).Draw(t, "window"),
				Fixed:  rapid.IntRange(0, 3).Draw(t, "fixed")})
		testkit.OK(t, err)
		var running []*sim.Sequence
		for id := range rapid.IntRange(1, 4).Draw(t, "sequences") {
			s := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 1000,
				Prompt: rapid.IntRange(1, 40).Draw(t, "prompt")}}
			if !m.Extend(s, s.Prompt, 0) {
				continue
			}
			s.Stored = s.Prompt
			m.Join(0, s)
			running = append(running, s)
		}
		units := func(steps int) (n int64) {
			for _, s := range running {
				n += m.Units(s.Stored + steps)
			}
			return n
		}
		for range rapid.IntRange(1, 12).Draw(t, "leaps") {
			if m.Used() != units(0) {
				t.Fatalf("%d units are used, the sequences hold %d", m.Used(), units(0))
			}
			head := m.Headroom(0, 30)
			for steps := range int(head) + 1 {
				if got, want := m.Growth(0, int64(steps)), units(steps)-units(0); got != want {
					t.Fatalf("%d steps take %d units, the sequences %d", steps, got, want)
				}
			}
			if units(int(head)) > m.Capacity() {
				t.Fatalf("%d steps take %d units of %d", head, units(int(head)), m.Capacity())
			}
			if head == 0 {
				if units(1) <= m.Capacity() {
					t.Fatalf("no step has room, but one takes %d units of %d", units(1),
						m.Capacity())
				}
				return
			}
			steps := rapid.Int64Range(1, head).Draw(t, "steps")
			m.Advance(0, steps)
			for _, s := range running {
				s.Stored += int(steps)
				s.Generated += int(steps)
			}
		}
	})
}

// Blocks are dropped in one order, and what survives a failure was written through to a tier.
func TestTieringsThatAreRefused(t *testing.T) {
	next := func(uint64) int64 { return 0 }
	for k := range 32 {
		is := func(bit int) bool { return k>>bit&1 > 0 }
		tiering := memory.Tiering{Frequent: is(0), Through: is(1), Survives: is(2)}
		orders := 0
		if is(0) {
			orders++
		}
		if is(3) {
			tiering.Next = next
			orders++
		}
		if is(4) {
			tiering.TTL = sim.Second
			orders++
		}
		for _, lower := range [][]memory.Tier{nil, {{Blocks: 9}}} {
			_, err := memory.NewTiered(9, 16, tiering, lower...)
			allowed := orders <= 1 && (!tiering.Survives || tiering.Through) &&
				(!tiering.Through || lower != nil)
			if allowed != (err == nil) {
				t.Errorf("%+v over %d tiers: %v", tiering, len(lower), err)
			}
		}
	}
	if _, err := memory.NewTiered(9, 16, memory.Tiering{TTL: -1}); err == nil {
		t.Error("a time to live below 0")
	}
}

// The last token of an answer has no KV, so that it is not in a pool.
func TestPoolKeepsAllButTheLastToken(t *testing.T) {
	pool, err := memory.NewPool(100, tierBlock)
	testkit.OK(t, err)
	for output, want := range map[int]int64{tierBlock: 3, tierBlock + 1: 4, 2 * tierBlock: 4,
		2*tierBlock + 1: 5} {
		c, err := memory.NewPrefixCache(100, tierBlock, memory.Tier{Blocks: 100})
		testkit.OK(t, err)
		p, err := memory.NewPooled(c, pool, 10, sim.Microsecond)
		testkit.OK(t, err)
		s := &sim.Sequence{Request: sim.Request{Prompt: 3 * tierBlock, Output: output, Answer: 9,
			Content: []sim.Segment{{ID: uint64(output), Tokens: 3 * tierBlock}}}}
		if size, _ := p.Offer(s); size != 10*want {
			t.Errorf("an answer of %d tokens leaves %d bytes, want %d", output, size, 10*want)
		}
	}
}
