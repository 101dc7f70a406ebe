package generate

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// served lets the engine draft gamma tokens for all that decode. When a request ends it checks the
// text, and frees it.
type served struct {
	sim.NopObserver
	t       *rapid.T
	clock   *engine.Clock
	serving *Serving
	plain   *engine.Engine
	gamma   int
	checked int
}

func (v *served) Plan(*sim.Batch)         {}
func (v *served) Draft(*sim.Sequence) int { return v.gamma }
func (v *served) Duration(_ *sim.Step, verify sim.Time) sim.Time {
	return verify + v.clock.DraftTime()
}

func (v *served) Accept(s *sim.Sequence, _ int) int {
	return v.serving.Accepted(v.clock.Sequence(s.ID))
}

func (v *served) Rejected(*sim.Request, sim.Rejection) { v.t.Fatal("rejected") }
func (v *served) Finished(s *sim.Sequence) {
	tokens := v.clock.Sequence(s.ID).Tokens()
	got := tokens[s.Prompt:][:s.Output]
	if want := greedy(v.t, v.plain, tokens[:s.Prompt], s.Output); !slices.Equal(got, want) {
		v.t.Fatalf("request %d continues with %v, want %v", s.ID, got, want)
	}
	v.checked++
	v.clock.Release(s.ID)
}

// greedy continues a prompt one token a step.
func greedy(t *rapid.T, e *engine.Engine, prompt []int32, n int) []int32 {
	s, err := e.Start(prompt)
	testkit.OK(t, err)
	defer s.Free()
	sampler, err := NewSampler(SamplingParams{})
	testkit.OK(t, err)
	p := make([]float64, e.Model().Config.Vocab)
	for range n {
		testkit.OK(t, e.Step([]engine.Chunk{
			{Sequence: s, New: s.Len() - s.Cached(), Logits: 1}}))
		testkit.OK(t, sampler.Distribution(p, e.Logits(0)))
		testkit.OK(t, s.Append(Draw(p, 0)))
	}
	return slices.Clone(s.Tokens()[len(prompt):])
}

// TestServedTextIsTheTargets lets the simulator schedule random requests with drafts, chunked
// prompts and little memory. With greedy decoding every text must be what the model gives one token
// a time, whoever drafts, and all memory must be free at the end.
func TestServedTextIsTheTargets(t *testing.T) {
	const blocks, simulated = 40, 8
	model := loadModel(t, "tiny")
	target := newEngine(t, model, engine.Options{Blocks: blocks, Threads: 1, PrefixCaching: true})
	plain := newEngine(t, model, engine.Options{Threads: 1})
	all := drafters(t, target, 2*blocks, SamplingParams{})
	rapid.Check(t, func(t *rapid.T) {
		drafter := rapid.SampledFrom(all).Draw(t, "drafter")
		gamma := rapid.IntRange(1, 5).Draw(t, "gamma")
		d, err := NewDecoder(target, drafter, DecoderOptions{Gamma: gamma})
		testkit.OK(t, err)
		v := &served{t: t, clock: engine.NewClock(target), serving: NewServing(d), plain: plain,
			gamma: gamma}
		v.clock.Drafting = v.serving
		var source sim.List
		for i := range rapid.IntRange(1, 10).Draw(t, "requests") {
			source = append(source, sim.Request{
				ID: int64(i), Prompt: rapid.IntRange(1, 80).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 20).Draw(t, "output"),
			})
		}
		n := len(source)
		scheduler, err := batching.NewVLLMV1(6, 64, rapid.IntRange(0, 50).Draw(t, "chunk"))
		testkit.OK(t, err)
		cache, err := memory.NewPaged(simulated, gpt2.BlockTokens)
		testkit.OK(t, err)
		_, err = sim.Run(context.Background(), sim.Config{
			Source: &source, Router: &routing.RoundRobin{}, Observer: v,
			Replicas: []sim.ReplicaConfig{
				{Scheduler: scheduler, Memory: cache, Clock: v.clock, Speculator: v}},
		})
		if err != nil || v.clock.Err() != nil {
			t.Fatal(err, v.clock.Err())
		}
		if v.checked != n || target.Available() != blocks || len(v.serving.streams) != 0 {
			t.Fatalf("%d of %d requests, %d of %d blocks available, %d streams", v.checked, n,
				target.Available(), blocks, len(v.serving.streams))
		}
	})
}
