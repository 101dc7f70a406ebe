package sim_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// fickle is a scheduler that takes the newest sequence out of every few steps, after all drafts of
// the step were made. The sequence keeps its KV cache or not.
type fickle struct {
	waiting []*sim.Sequence
	every   int64
	keeps   bool
}

func (f *fickle) Enqueue(s *sim.Sequence) { f.waiting = append(f.waiting, s) }
func (f *fickle) Waiting() int            { return len(f.waiting) }

func (f *fickle) Schedule(b *sim.Batch) sim.Decision {
	b.Decode()
	at := b.Steps() % f.every
	if s := b.Newest(); at == 0 && b.Decodes() > 1 && s.Decoding() &&
		s.Preemptions == 0 {
		if f.keeps {
			f.Enqueue(b.Pause(s))
		} else {
			f.Enqueue(b.Preempt(s))
		}
	} else if len(f.waiting) > 0 && b.Prefill(f.waiting[0], 40) > 0 {
		f.waiting = f.waiting[1:]
	}
	if len(f.waiting) > 0 {
		return sim.Decision{Steps: 1}
	}
	return sim.Decision{Steps: f.every - at}
}

// A sequence that leaves a step for which it has drafts goes on as it does where each step is taken
// by itself: its drafter has caught up, and its memory is what it was.
func TestLeaveAfterDrafting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		acceptance, err := speculation.Beta(0.6, 0.2)
		testkit.OK(t, err)
		c := speculation.Config{Acceptance: acceptance, Lengths: speculation.Fixed{},
			Verify:    affineClock{base: 1e9, perContext: 7},
			Shape:     speculation.Shape{Depth: rapid.IntRange(1, 5).Draw(t, "depth"), Width: 1},
			Drafter:   passes{row: 11, behind: 1e6, context: 3},
			Recompute: rapid.Bool().Draw(t, "recompute")}
		every := rapid.Int64Range(2, 40).Draw(t, "every")
		keeps := rapid.Bool().Draw(t, "keeps")
		var requests sim.List
		for i := range rapid.IntRange(2, 5).Draw(t, "requests") {
			requests = append(requests, sim.Request{Arrival: sim.Time(i) * 3e9, Prompt: 9 + i,
				Output: rapid.IntRange(20, 200).Draw(t, "output")})
		}
		type outcome struct {
			Result   sim.Result
			Finished []finished
			Accepted []int64
			FLOPs    float64
		}
		run := func(maxLeap int64) outcome {
			p, err := speculation.New(c)
			testkit.OK(t, err)
			m, err := memory.NewPrefixCache(500, 4)
			testkit.OK(t, err)
			source, j := slices.Clone(requests), &journal{gaps: map[sim.Time]int64{}}
			r, err := sim.Run(context.Background(), sim.Config{Source: &source, MaxLeap: maxLeap,
				Router: &routing.RoundRobin{}, Observer: j, Replicas: []sim.ReplicaConfig{{
					Scheduler: &fickle{every: every, keeps: keeps}, Memory: m,
					Clock: c.Verify, Speculator: p}}})
			testkit.OK(t, err)
			return outcome{r, j.finished, p.Accepted(), p.FLOPs()}
		}
		if d := cmp.Diff(run(1), run(0)); d != "" {
			t.Fatalf("stepping (-) against leaping (+):\n%s", d)
		}
	})
}
