package sim_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// coin drafts a random number of tokens, each accepted with the same probability as long as those
// before it are.
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

// With drafts too, and under every policy, every request arrives and ends once, every token comes
// out once, every block is given back, and the same seed gives the same run; a draft that is never
// accepted costs its time and nothing else.
func TestSpeculationConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.stages = 1
		drawPolicies(t, &c)
		seed := rapid.Uint64().Draw(t, "seed")
		alpha := rapid.SampledFrom([]float64{0, 0.5, 0.9, 1}).Draw(t, "alpha")
		run := func() (sim.Result, *journal) {
			config, j := c.config(t, 0)
			for i := range config.Replicas {
				config.Replicas[i].Speculator = &coin{rng: rand.New(rand.NewPCG(seed, uint64(i))),
					most: 5, alpha: alpha, draft: sim.Microsecond}
			}
			r, err := sim.Run(context.Background(), config)
			if err != nil {
				t.Fatal(err)
			}
			return r, j
		}
		r, j := run()
		if again, _ := run(); !slices.Equal(again.Replicas, r.Replicas) || again.End != r.End {
			t.Fatalf("the same seed gave\n%+v\n%+v", r, again)
		}
		var tokens int64
		for _, f := range j.finished {
			tokens += int64(f.Output)
			if f.Generated != f.Output || f.FirstToken > f.LastTok {
				t.Fatalf("finished: %+v", f)
			}
		}
		var w sim.ReplicaResult
		var held int64
		for i := range r.Replicas {
			w.Sampled += r.Replicas[i].Sampled
			w.Drafted += r.Replicas[i].Drafted
			w.Accepted += r.Replicas[i].Accepted
			held += j.memories[i].Used()
		}
		if r.Arrived != int64(len(c.requests)) || r.Arrived != r.Completed+r.Rejected ||
			w.Sampled != tokens || held != 0 {
			t.Fatalf("%d requests, %d tokens, %d units held: %+v", len(c.requests), tokens, held, r)
		}
		if alpha == 0 && w.Accepted != 0 || alpha == 1 && w.Accepted != w.Drafted {
			t.Fatalf("acceptance rate %g, but %d of %d accepted", alpha, w.Accepted, w.Drafted)
		}
	})
}
