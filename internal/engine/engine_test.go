package engine

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
)

// tester is a *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

func fixture(name string) string { return filepath.Join("testdata", name) }

func newEngine(t tester, name string, o Options) *Engine {
	t.Helper()
	m, err := gpt2.Load(fixture(name), gpt2.Options{})
	testkit.OK(t, err)
	e, err := New(m, o)
	testkit.OK(t, err)
	t.Cleanup(func() { e.Close(); m.Close() })
	return e
}

func start(t tester, e *Engine, tokens []int32) *Sequence {
	t.Helper()
	s, err := e.Start(tokens)
	testkit.OK(t, err)
	return s
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// TestAnySchedule continues the oracle's prompts greedily under random schedules: sequences come
// and go, prompts are cut into chunks, steps mix prefill and decode of some sequences and leave out
// others, tokens are rolled back, sequences are preempted, and the cache is small. The texts must
// be the oracle's, exactly.
func TestAnySchedule(t *testing.T) {
	prompts := testkit.LoadOracle(t, fixture("tiny")).Prompts
	for _, prefixes := range []bool{false, true} {
		e := newEngine(t, "tiny", Options{Blocks: 14, Threads: 2, PrefixCaching: prefixes})
		rapid.Check(t, func(t *rapid.T) {
			var running []*schedule
			for done := 0; done < 3; {
				if len(running) < 5 && rapid.Bool().Draw(t, "arrival") {
					p := prompts[rapid.IntRange(0, len(prompts)-1).Draw(t, "prompt")]
					running = append(running, &schedule{Sequence: start(t, e, p.IDs), prompt: p})
				}
				step(t, e, running)
				running = slices.DeleteFunc(running, func(s *schedule) bool {
					if s.Len() < len(s.prompt.IDs)+12 {
						return false
					}
					s.check(t)
					s.Free()
					done++
					return true
				})
			}
			for _, s := range running {
				s.Free()
			}
			if e.Available() != 14 {
				t.Fatalf("%d of 14 blocks available when nothing runs", e.Available())
			}
		})
	}
}

// schedule is a sequence of the test with what it must become.
type schedule struct {
	*Sequence
	prompt testkit.OraclePrompt
}

func (s *schedule) check(t *rapid.T) {
	n := len(s.prompt.IDs)
	if !slices.Equal(s.Tokens()[n:], s.prompt.Greedy[:s.Len()-n]) {
		t.Fatalf("continuation %v, want %v", s.Tokens()[n:], s.prompt.Greedy)
	}
}

// step runs one step over some of the sequences, with chunks of random size.
func step(t *rapid.T, e *Engine, running []*schedule) {
	var chunks []Chunk
	var sampled []*schedule
	for _, s := range running {
		switch rapid.IntRange(0, 14).Draw(t, "event") {
		case 0:
			continue
		case 1: // roll back, at most to the prompt
			s.Truncate(rapid.IntRange(max(s.Len()-3, len(s.prompt.IDs)), s.Len()).Draw(t, "keep"))
		case 2: // preempt
			s.Evict(rapid.IntRange(0, s.Cached()).Draw(t, "stay"))
		}
		left := s.Len() - s.Cached()
		if left == 0 { // rolled back to a token that is stored: compute it again
			s.Evict(s.Cached() - 1)
			left = 1
		}
		c := Chunk{Sequence: s.Sequence, New: rapid.IntRange(1, left).Draw(t, "new")}
		if c.New == left {
			c.Logits = 1
			sampled = append(sampled, s)
		}
		chunks = append(chunks, c)
	}
	err := e.Step(chunks)
	if errors.Is(err, ErrKVExhausted) {
		running[0].Evict(0)
		return
	}
	testkit.OK(t, err)
	for i, s := range sampled {
		testkit.OK(t, s.Append(argmax(e.Logits(i))))
	}
}

// TestPrefixReuse checks that a second sequence computes only what the first did not, and gets the
// same logits.
func TestPrefixReuse(t *testing.T) {
	e := newEngine(t, "tiny", Options{Blocks: 8, PrefixCaching: true})
	prompt := testkit.LoadOracle(t, fixture("tiny")).Prompts[7].IDs // 96 tokens: three blocks
	var logits [][]float32
	// not the third block: its last token must be computed
	for i, cached := range []int{0, 64, 64} {
		s := start(t, e, prompt)
		if s.Cached() != cached {
			t.Fatalf("sequence %d starts with %d tokens cached, want %d", i, s.Cached(), cached)
		}
		testkit.OK(t, e.Step([]Chunk{{Sequence: s, New: s.Len() - s.Cached(), Logits: 1}}))
		logits = append(logits, slices.Clone(e.Logits(0)))
		if i == 1 {
			s.Free() // the third finds blocks that nobody uses any more
		}
	}
	for i := 1; i < 3; i++ {
		if !slices.Equal(logits[0], logits[i]) {
			t.Errorf("sequence %d has other logits", i)
		}
	}
}

// TestSharedBlockIsCopied rolls a sequence back into a block that another uses, and writes
// something else there.
func TestSharedBlockIsCopied(t *testing.T) {
	e := newEngine(t, "tiny", Options{Blocks: 8, PrefixCaching: true})
	prompt := testkit.LoadOracle(t, fixture("tiny")).Prompts[6].IDs // 64 tokens
	a := start(t, e, prompt)
	testkit.OK(t, e.Step([]Chunk{{Sequence: a, New: 64}}))
	b := start(t, e, prompt)
	b.Truncate(20)
	for range 30 {
		testkit.OK(t, b.Append(7))
	}
	testkit.OK(t, e.Step([]Chunk{{Sequence: b, New: b.Len() - b.Cached()}}))
	want := testkit.LoadOracle(t, fixture("tiny")).Prompts[6].Greedy
	a.Evict(63)
	for i := range want {
		testkit.OK(t, e.Step([]Chunk{{Sequence: a, New: 1, Logits: 1}}))
		if got := argmax(e.Logits(0)); got != want[i] {
			t.Fatalf("token %d is %d, want %d: the other sequence wrote into a shared block", i,
				got, want[i])
		}
		testkit.OK(t, a.Append(want[i]))
	}
}

func TestBadStepsAreErrors(t *testing.T) {
	e := newEngine(t, "tiny", Options{Blocks: 2})
	other := newEngine(t, "tiny", Options{})
	s := start(t, e, make([]int32, 10))
	freed := start(t, e, []int32{1})
	freed.Free()
	for name, chunks := range map[string][]Chunk{
		"no tokens":       {{Sequence: s}},
		"negative":        {{Sequence: s, New: -1}},
		"too many":        {{Sequence: s, New: 11}},
		"logits":          {{Sequence: s, New: 2, Logits: 3}},
		"negative logits": {{Sequence: s, New: 2, Logits: -1}},
		"twice":           {{Sequence: s, New: 1}, {Sequence: s, New: 1}},
		"other engine":    {{Sequence: start(t, other, []int32{1}), New: 1}},
		"nobody":          {{New: 1}},
		"freed":           {{Sequence: freed, New: 1}},
	} {
		if err := e.Step(chunks); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if s.Cached() != 0 {
		t.Error("a refused step changed the sequence")
	}
	for name, tokens := range map[string][]int32{"empty": nil, "vocabulary": {257},
		"negative": {0, -1}, "too long": make([]int32, 129)} {
		if _, err := e.Start(tokens); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := s.Append(257); err == nil {
		t.Error("a token outside the vocabulary was appended")
	}
}

func TestExhaustedAndFull(t *testing.T) {
	e := newEngine(t, "tiny", Options{Blocks: 2})
	a, b := start(t, e, make([]int32, 40)), start(t, e, make([]int32, 40))
	if err := e.Step([]Chunk{{Sequence: a, New: 40}, {Sequence: b, New: 10}}); !errors.Is(err,
		ErrKVExhausted) {
		t.Fatalf("error %v, want %v", err, ErrKVExhausted)
	}
	if e.Available() != 2 || a.Cached() != 0 {
		t.Fatal("a refused step took blocks")
	}
	testkit.OK(t, e.Step([]Chunk{{Sequence: a, New: 40}}))
	full := start(t, e, make([]int32, 128))
	if err := full.Append(1); err == nil {
		t.Error("no error when the context is full")
	}
}

func TestDecodeStepDoesNotAllocate(t *testing.T) {
	e := newEngine(t, "tiny", Options{Blocks: 16, Threads: 2, PrefixCaching: true})
	var chunks []Chunk
	for i := range 4 {
		s := start(t, e, []int32{int32(i), 1, 2})
		chunks = append(chunks, Chunk{Sequence: s, New: 3, Logits: 1})
	}
	testkit.OK(t, e.Step(chunks))
	decode := func() {
		for i := range chunks {
			testkit.OK(t, chunks[i].Sequence.Append(argmax(e.Logits(i))))
			chunks[i].New = 1
		}
		testkit.OK(t, e.Step(chunks))
	}
	if n := testing.AllocsPerRun(100, decode); n != 0 {
		t.Errorf("a decode step allocates %v times", n)
	}
}

func BenchmarkLargest(b *testing.B) {
	logits := make([]float32, 50257)
	for i := range logits {
		logits[i] = float32(i * 7919 % 50021)
	}
	for b.Loop() {
		largest(logits)
	}
}
