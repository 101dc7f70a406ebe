package speculation_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// exacting is a drafter whose cost depends on all that a load says, and which sums up the
// operations that it is asked for.
type exacting struct{ flops *float64 }

func (exacting) Duration(l *speculation.Load) sim.Time {
	t := sim.Time(7*l.Behind) + sim.Time(l.Context)
	for pass, n := range l.Sequences {
		t += sim.Time(100 * n * (1 + l.Expanded[pass]))
	}
	return t
}

func (e exacting) FLOPs(l *speculation.Load) float64 {
	n := float64(e.Duration(l))
	*e.flops += n
	return n
}

// Leaps with drafts do what single steps do, however much the drafter has to catch up on, and
// operations count once for each step.
func TestLeapsDraftAsStepsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, err := speculation.Beta(rapid.SampledFrom([]float64{0.3, 0.7, 0.9}).Draw(t, "mean"),
			0.1)
		testkit.OK(t, err)
		lengths := rapid.SampledFrom([]string{"", "1:3", "1:1", "1:4, 3:0", "1:0, 2:2"}).Draw(t,
			"lengths")
		c := speculation.Config{Acceptance: a, Verify: linear{base: step},
			Shape: speculation.Shape{Depth: rapid.IntRange(1, 4).Draw(t, "depth"), Width: 1},
			Ahead: rapid.Bool().Draw(t, "ahead"), Recompute: rapid.Bool().Draw(t, "recompute"),
			Cold: rapid.Bool().Draw(t, "cold"), Step: 3, Sequence: 2}
		var requests sim.List
		at := sim.Time(0)
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			at += sim.Time(rapid.IntRange(0, 80).Draw(t, "gap")) * step
			requests = append(requests, sim.Request{Arrival: at,
				Prompt: rapid.IntRange(1, 20).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 300).Draw(t, "output")})
		}
		do := func(maxLeap int64) (sim.ReplicaResult, *speculation.Speculator, float64) {
			c, asked := c, 0.0
			if c.Lengths = (speculation.Fixed{}); lengths != "" {
				c.Lengths, err = speculation.NewByBatch(lengths)
				testkit.OK(t, err)
			}
			c.Drafter = exacting{&asked}
			p := speculator(t, c)
			s, err := batching.NewVLLMV1(4, 1000, 0)
			testkit.OK(t, err)
			m, err := memory.NewPaged(1<<20, 16)
			testkit.OK(t, err)
			source := slices.Clone(requests)
			r, err := sim.Run(context.Background(), sim.Config{
				Source: &source, Router: &routing.RoundRobin{}, MaxLeap: maxLeap,
				Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m,
					Clock: linear{base: step, perToken: step / 9}, Speculator: p}},
			})
			testkit.OK(t, err)
			return r.Replicas[0], p, asked
		}
		steps, stepped, asked := do(1)
		leaps, leapt, _ := do(math.MaxInt64)
		if steps.Busy != leaps.Busy || steps.Drafted != leaps.Drafted ||
			steps.Sampled != leaps.Sampled || stepped.FLOPs() != leapt.FLOPs() ||
			!slices.Equal(stepped.Accepted(), leapt.Accepted()) {
			t.Fatalf("by steps %v with %v accepted and %g operations, in leaps %v with %v and %g",
				steps.Busy, stepped.Accepted(), stepped.FLOPs(), leaps.Busy, leapt.Accepted(),
				leapt.FLOPs())
		}
		if stepped.FLOPs() != asked {
			t.Fatalf("%g operations, the drafter has %g", stepped.FLOPs(), asked)
		}
	})
}

// What a drafter has not computed comes with its next draft: with features of the model, all
// tokens accepted before; else the last one, if the whole draft was accepted.
func TestDraftersCatchUp(t *testing.T) {
	for _, c := range []struct {
		alpha     float64
		recompute bool
		want      int // tokens behind in each step, with drafts of three
	}{{1, true, 3}, {1, false, 1}, {0, true, 0}, {0, false, 0}} {
		asked := 0.0
		p := speculator(t, speculation.Config{Acceptance: constant(t, c.alpha),
			Shape:   speculation.Shape{Depth: 3, Width: 1},
			Lengths: speculation.Fixed{}, Recompute: c.recompute,
			Drafter: exacting{&asked}, Verify: linear{base: step}})
		serve(t, answers(1, 400), 1, stopped{t, p, c.want}, p, nil)
	}
}

// stopped looks at the load of each step.
type stopped struct {
	t    *testing.T
	p    *speculation.Speculator
	want int
}

func (s stopped) Duration(next *sim.Step) sim.Time {
	if l := s.p.Load(); next.Decodes > 0 && next.Context > 8 && l.Behind != s.want {
		s.t.Errorf("%d tokens behind at a context of %d, want %d", l.Behind, next.Context, s.want)
	}
	return step
}

// Drafts of one token at most are drafted where that pays, and nothing is where the budget leaves
// no room.
func TestOneTokenIsDrafted(t *testing.T) {
	for budget, want := range map[int]float64{0: 1.9, 1: 1, 2: 1.9} {
		for name, lengths := range map[string]speculation.Lengths{"fixed": speculation.Fixed{},
			"optimal": speculation.Optimal{}, "adaptive": adaptive(t), "each": perRequest(t)} {
			p := speculator(t, speculation.Config{Acceptance: constant(t, 0.9),
				Shape: speculation.Shape{Depth: 1, Width: 1}, Lengths: lengths,
				Drafter: drafter{pass: step / 100}, Verify: linear{base: step},
				TokenBudget: budget})
			r := serve(t, answers(20, 400), 1, linear{base: step}, p, nil)
			if got, _ := tokensPerStep(r); math.Abs(got-want) > 0.03 {
				t.Errorf("%s with a budget of %d: %.3f tokens a step, want %g", name, budget, got,
					want)
			}
		}
	}
}
