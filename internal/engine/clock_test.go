package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// checkedClock checks after each executed step that the engine holds what the simulator says, and
// that its logits are those of an engine that computes each text alone.
type checkedClock struct {
	*Clock
	t interface {
		tester
		Fatalf(format string, args ...any)
	}
	alone *Engine
	rows  int
}

func (c *checkedClock) Duration(s *sim.Step) sim.Time {
	d := c.Clock.Duration(s)
	if c.Err() != nil {
		c.t.Fatal(c.Err())
	}
	c.checkLogits()
	computed := 0
	for _, chunk := range c.chunks {
		computed += chunk.New
	}
	if computed != s.Tokens() {
		c.t.Fatalf("the engine computed %d tokens, the step has %d", computed, s.Tokens())
	}
	context, extra := int64(0), s.DecodeTokens-s.Decodes
	for q := range s.Sequences {
		context += int64(c.sequences[q.ID].Cached())
	}
	if context != s.Context+int64(extra) {
		c.t.Fatalf("the engine attended to %d tokens, the step to %d", context, s.Context)
	}
	for _, p := range s.Prefill {
		if got := c.sequences[p.Sequence.ID].Cached(); got != p.Cached+p.New {
			c.t.Fatalf("request %d has %d tokens stored, want %d", p.Sequence.ID, got,
				p.Cached+p.New)
		}
	}
	if d < sim.Tick {
		c.t.Fatalf("a step took %v", d)
	}
	c.rows += computed
	return sim.Millisecond // so that the schedule does not depend on the machine
}

// checkLogits checks the last logits of each chunk that has some.
func (c *checkedClock) checkLogits() {
	c.t.Helper()
	row := 0
	for _, chunk := range c.chunks {
		if row += chunk.Logits; chunk.Logits == 0 {
			continue
		}
		s := start(c.t, c.alone, chunk.Sequence.Tokens())
		testkit.OK(c.t, c.alone.Step([]Chunk{{Sequence: s, New: s.Len(), Logits: 1}}))
		if !slices.Equal(c.engine.Logits(row-1), c.alone.Logits(0)) {
			c.t.Fatalf("logits after %d tokens differ from those of the text alone", s.Len())
		}
		s.Free()
	}
}

// TestClockExecutesSchedules lets the simulator run random requests under vLLM's scheduler with
// little memory, so that sequences are preempted, share prefixes and come back, and executes every
// step.
func TestClockExecutesSchedules(t *testing.T) {
	const blocks = 12
	e := newEngine(t, "tiny", Options{Blocks: blocks, PrefixCaching: true, Threads: 1})
	alone := newEngine(t, "tiny", Options{Threads: 1})
	rapid.Check(t, func(t *rapid.T) {
		var source sim.List
		arrival := sim.Time(0)
		for i := range rapid.IntRange(1, 12).Draw(t, "requests") {
			arrival += rapid.SampledFrom([]sim.Time{0, sim.Millisecond}).Draw(t, "gap")
			r := sim.Request{
				ID: int64(i), Arrival: arrival,
				Prompt: rapid.IntRange(1, 90).Draw(t, "prompt"), Output: rapid.IntRange(1,
					30).Draw(t, "output"),
			}
			if rapid.Bool().Draw(t, "shares") {
				r.Content = []sim.Segment{{ID: 7, Tokens: min(r.Prompt, 40)}}
			}
			source = append(source, r)
		}
		scheduler, err := batching.NewVLLMV1(6, 64, rapid.IntRange(0, 50).Draw(t, "chunk"))
		testkit.OK(t, err)
		var cache sim.Memory
		if rapid.Bool().Draw(t, "prefix cache") {
			cache, err = memory.NewPrefixCache(blocks, gpt2.BlockTokens)
		} else {
			cache, err = memory.NewPaged(blocks, gpt2.BlockTokens)
		}
		testkit.OK(t, err)
		clock := &checkedClock{Clock: NewClock(e), t: t, alone: alone}
		n := int64(len(source))
		defer func() {
			clock.Reset()
			if e.Available() != blocks {
				t.Fatalf("%d of %d blocks available at the end", e.Available(), blocks)
			}
		}()
		result, err := sim.Run(context.Background(), sim.Config{
			Source: &source, Router: &routing.RoundRobin{},
			Replicas: []sim.ReplicaConfig{{Scheduler: scheduler, Memory: cache, Clock: clock}},
		})
		testkit.OK(t, err)
		if result.Completed != n {
			t.Fatalf("%d of %d requests completed", result.Completed, n)
		}
	})
}

// TestClockSharesBlocksThatAStepFills executes schedules with a step that takes all blocks, and in
// which two sequences share one of 32 tokens that the step itself fills. All prompts begin alike.
func TestClockSharesBlocksThatAStepFills(t *testing.T) {
	type request struct{ arrival, prompt, output int }
	for name, c := range map[string]struct {
		blocks, chunk int
		requests      []request
	}{
		"of an earlier chunk": {blocks: 3, requests: []request{{0, 33, 1}, {0, 33, 1}}},
		"of two chunks": {blocks: 4, chunk: 22,
			requests: []request{{0, 33, 1}, {0, 33, 1}, {1, 1, 1}}},
		"of two last chunks, after a shared one": {blocks: 3, chunk: 40,
			requests: []request{{0, 64, 1}, {0, 64, 1}, {1, 1, 1}}},
		"of a decoding sequence": {blocks: 3, chunk: 22,
			requests: []request{{0, 32, 2}, {1, 32, 1}, {2, 1, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var source sim.List
			for i, r := range c.requests {
				source = append(source, sim.Request{
					ID: int64(i), Arrival: sim.Time(r.arrival) * sim.Millisecond, Prompt: r.prompt,
					Output: r.output, Content: []sim.Segment{{ID: 7, Tokens: r.prompt}},
				})
			}
			scheduler, err := batching.NewVLLMV1(6, 64, c.chunk)
			testkit.OK(t, err)
			cache, err := memory.NewPrefixCache(int64(c.blocks), gpt2.BlockTokens)
			testkit.OK(t, err)
			clock := &checkedClock{t: t, alone: newEngine(t, "tiny", Options{Threads: 1}),
				Clock: NewClock(newEngine(t, "tiny",
					Options{Blocks: c.blocks, PrefixCaching: true, Threads: 2}))}
			_, err = sim.Run(context.Background(), sim.Config{
				Source: &source, Router: &routing.RoundRobin{},
				Replicas: []sim.ReplicaConfig{{Scheduler: scheduler, Memory: cache, Clock: clock}},
			})
			testkit.OK(t, err)
		})
	}
}

// TestClockPads executes the rows that a static batch computes for nothing.
func TestClockPads(t *testing.T) {
	c := NewClock(newEngine(t, "tiny", Options{}))
	q := &sim.Sequence{Request: sim.Request{ID: 1, Prompt: 10}}
	d := c.Duration(&sim.Step{Decodes: 2, DecodeTokens: 2,
		Prefill: []sim.Chunk{{Sequence: q, New: 10, Padding: 5, Last: true}}})
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	total := 0
	for _, chunk := range c.chunks {
		total += chunk.New
	}
	if total != 17 || d < sim.Nanosecond {
		t.Errorf("%d tokens in %v, want 17", total, d)
	}
	c.Release(1)
	if c.engine.Available() != c.engine.cache.Blocks() {
		t.Error("padding was not freed")
	}
}

func TestClockErrors(t *testing.T) {
	e := newEngine(t, "tiny", Options{Blocks: 1})
	for name, c := range map[string]struct {
		step sim.Step
		is   error
	}{
		"made-up chunk": {step: sim.Step{Prefill: []sim.Chunk{{New: 3}}}},
		"long prompt": {step: sim.Step{
			Prefill: []sim.Chunk{
				{Sequence: &sim.Sequence{Request: sim.Request{Prompt: 500}}, New: 500}}}},
		"long answer": {step: sim.Step{
			Prefill: []sim.Chunk{{Sequence: &sim.Sequence{Request: sim.Request{Prompt: 5}}, New: 5,
				Cached: 128}}}},
		"not in memory": {step: sim.Step{
			Prefill: []sim.Chunk{
				{Sequence: &sim.Sequence{Request: sim.Request{Prompt: 40}}, New: 40}}},
			is: ErrKVExhausted},
		"cached no room": {step: sim.Step{
			Prefill: []sim.Chunk{{Sequence: &sim.Sequence{Request: sim.Request{Prompt: 50}}, New: 1,
				Cached: 49}}}, is: ErrKVExhausted},
	} {
		clock := NewClock(e)
		if d := clock.Duration(&c.step); d != sim.Tick || clock.Err() == nil || c.is != nil &&
			!errors.Is(clock.Err(), c.is) {
			t.Errorf("%s: duration %v, error %v", name, d, clock.Err())
		}
		first := clock.Err()
		if clock.Duration(&sim.Step{}); clock.Err() != first {
			t.Errorf("%s: the error changed to %v", name, clock.Err())
		}
		clock.Release(0)
	}
}

// TestTextFollowsSegments checks which tokens two requests share.
func TestTextFollowsSegments(t *testing.T) {
	a := sim.Request{ID: 1, Prompt: 60, Answer: 9,
		Content: []sim.Segment{{ID: 5, Tokens: 20}, {ID: 6, Tokens: 10}}}
	b := sim.Request{ID: 2, Prompt: 60,
		Content: []sim.Segment{{ID: 5, Tokens: 20}, {ID: 9, Tokens: 10}}}
	x, y := text(&a, 70, 50257), text(&b, 70, 50257)
	same := func(x, y []int32) int {
		n := 0
		for i := range x {
			if x[i] == y[i] {
				n++
			}
		}
		return n
	}
	if same(x[:20], y[:20]) != 20 {
		t.Error("the shared segment differs")
	}
	if same(x[20:], y[20:]) > 2 {
		t.Error("texts outside of the shared segment are equal")
	}
	if same(x[60:], y[20:30]) != 10 {
		t.Error("the answer is not the segment of that name")
	}
}
