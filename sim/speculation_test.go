package sim_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// coin drafts a random number of tokens, each accepted with the same probability as long as those before it are.
type coin struct {
	rng   *rand.Rand
	most  int
	alpha float64
	draft sim.Time
}

func (c *coin) Plan(*sim.Batch)         {}
func (c *coin) Draft(*sim.Sequence) int { return c.rng.IntN(c.most + 1) }
func (c *coin) Duration(step *sim.Step, verify sim.Time) sim.Time {
	return verify + c.draft*sim.Time(step.DecodeTokens-step.Decodes)
}

func (c *coin) Accept(_ *sim.Sequence, drafted int) int {
	n := 0
	for n < drafted && c.rng.Float64() < c.alpha {
		n++
	}
	return n
}

// With drafts too, every request arrives and ends once, every token comes out once, every block is given back, and the same seed
// gives the same run; a draft that is never accepted costs its time and nothing else.
func TestSpeculationConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.stages = 1
		seed := rapid.Uint64().Draw(t, "seed")
		alpha := rapid.SampledFrom([]float64{0, 0.5, 0.9, 1}).Draw(t, "alpha")
		run := func() (sim.Result, *journal) {
			j := &journal{gaps: map[sim.Time]int64{}}
			s, err := batching.NewVLLMV1(c.maxSequences, c.budget, c.chunk)
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.memory()
			if err != nil {
				t.Fatal(err)
			}
			j.memories = append(j.memories, m)
			r, err := sim.Run(context.Background(), sim.Config{
				Source: &listSource{requests: c.requests}, Router: &routing.RoundRobin{}, Observer: j,
				Replicas: []sim.ReplicaConfig{{
					Scheduler: s, Memory: m, Clock: c.clock, Lookahead: c.lookahead, MaxContext: c.maxContext,
					Speculator: &coin{rng: rand.New(rand.NewPCG(seed, 0)), most: 5, alpha: alpha, draft: sim.Microsecond},
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return r, j
		}
		r, j := run()
		if again, _ := run(); again.End != r.End || again.Replicas[0] != r.Replicas[0] {
			t.Fatalf("the same seed gave\n%+v\n%+v", r, again)
		}
		var tokens int64
		for _, f := range j.finished {
			tokens += int64(f.Output)
			if f.Generated != f.Output || f.FirstToken > f.LastTok {
				t.Fatalf("finished: %+v", f)
			}
		}
		w := r.Replicas[0]
		if r.Arrived != int64(len(c.requests)) || r.Arrived != r.Completed+r.Rejected || w.Sampled != tokens || j.memories[0].Used() != 0 {
			t.Fatalf("%d requests, %d tokens, %d blocks held: %+v", len(c.requests), tokens, j.memories[0].Used(), r)
		}
		if alpha == 0 && w.Accepted != 0 || alpha == 1 && w.Accepted != w.Drafted {
			t.Fatalf("acceptance rate %g, but %d of %d accepted", alpha, w.Accepted, w.Drafted)
		}
	})
}
