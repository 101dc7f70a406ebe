package sim_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/speculation"
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
			testkit.OK(t, err)
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

// passes is a drafter whose time and arithmetic show all of a load.
type passes struct{ row, behind, context sim.Time }

func (p passes) Duration(l *speculation.Load) sim.Time {
	t := p.behind*sim.Time(l.Behind) + p.context*sim.Time(l.Context)
	for i, n := range l.Sequences {
		t += p.row * sim.Time(n*l.Expanded[i])
	}
	for i := range l.Prefill {
		t += p.row * sim.Time(l.Prefill[i].New)
	}
	return t
}

func (p passes) FLOPs(l *speculation.Load) float64 { return 0.1 * float64(p.Duration(l)) }

// drawSpeculator makes up a speculator, which can be built again and again.
func drawSpeculator(t *rapid.T, verify sim.StepClock) func(seed uint64) *speculation.Speculator {
	rates := rapid.SampledFrom([][]float64{{0}, {1}, {0.85}, {0.5, 0.9}, {0.7, 0.6, 0.5}}).Draw(t,
		"rates")
	acceptance, err := speculation.ByPosition(rates)
	if rapid.Bool().Draw(t, "beta") {
		acceptance, err = speculation.Beta(0.6, 0.2)
	}
	testkit.OK(t, err)
	c := speculation.Config{
		Acceptance: acceptance,
		Shape: speculation.Shape{Depth: rapid.IntRange(1, 7).Draw(t, "depth"),
			Width: rapid.IntRange(1, 2).Draw(t, "width"), Siblings: 0.3},
		Drafter: passes{row: 3e5, behind: sim.Time(rapid.IntRange(0, 1e6).Draw(t, "behind")),
			context: 7},
		Verify:    verify,
		Match:     rapid.SampledFrom([]float64{0, 0, 0, 1, 0.6}).Draw(t, "match"),
		Recompute: rapid.Bool().Draw(t, "recompute"),
		Ahead:     rapid.IntRange(0, 3).Draw(t, "ahead") == 0,
		Cold:      rapid.Bool().Draw(t, "cold"),
		Step:      sim.Time(rapid.IntRange(0, 1e6).Draw(t, "step")), Sequence: 1000,
		TokenBudget: rapid.SampledFrom([]int{0, 12}).Draw(t, "drafted"),
	}
	policy := rapid.IntRange(0, 5).Draw(t, "lengths")
	return func(seed uint64) *speculation.Speculator {
		var err error
		c.Seed = seed
		switch policy {
		case 1:
			c.Lengths, err = speculation.NewByBatch("1:4, 3:2, 6:0")
		case 2:
			c.Lengths = speculation.Optimal{}
		case 3:
			c.Lengths, err = speculation.NewAdaptive(0.8, 20)
		case 4:
			c.Lengths, err = speculation.NewPerRequest(0.8, 2)
		default:
			c.Lengths = speculation.Fixed{}
		}
		testkit.OK(t, err)
		p, err := speculation.New(c)
		testkit.OK(t, err)
		return p
	}
}

// Leaping with drafts gives what stepping gives, to the last bit: results, every request's times,
// every gap, every sample, the drafts and their arithmetic, also where replicas fail and users
// leave.
func TestLeapWithDraftsEqualsStep(t *testing.T) {
	leaps := 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.stages = 1
		if rapid.Bool().Draw(t, "policies") {
			drawPolicies(t, &c)
		}
		if rapid.Bool().Draw(t, "ample") {
			c.blocks *= 50
			if c.drawn != nil {
				c.drawn.place.KVTokens *= 50
			}
		}
		for i := range c.requests {
			c.requests[i].Output *= rapid.SampledFrom([]int{1, 1, 9}).Draw(t, "longer")
			c.requests[i].Patience = sim.Time(rapid.SampledFrom([]int64{0, 0, 1e11}).Draw(t,
				"patience"))
		}
		var outages []sim.Outage
		for range rapid.IntRange(0, 2).Draw(t, "outages") {
			outages = append(outages, sim.Outage{
				Replica: rapid.IntRange(0, c.replicas-1).Draw(t, "failing"),
				At:      sim.Time(rapid.Int64Range(0, 1e12).Draw(t, "fails")), For: 1e10,
			})
		}
		make := drawSpeculator(t, c.clock)
		type outcome struct {
			Result   sim.Result
			Journal  *journal
			Accepted [][]int64
			FLOPs    []float64
		}
		run := func(maxLeap int64) (o outcome) {
			config, j := c.config(t, maxLeap)
			config.Outages, config.Retry = outages, sim.Retry{Attempts: 2, Delay: 1e9}
			var made []*speculation.Speculator
			for i := range config.Replicas {
				p := make(uint64(i))
				made, config.Replicas[i].Speculator = append(made, p), p
			}
			if maxLeap != 1 {
				config.Observer = sim.Observers{j, leapCounter{&leaps}}
			}
			r, err := sim.Run(context.Background(), config)
			testkit.OK(t, err)
			o.Result, o.Journal = r, j
			for _, p := range made {
				o.Accepted = append(o.Accepted, p.Accepted())
				o.FLOPs = append(o.FLOPs, p.FLOPs())
			}
			return o
		}
		stepped := run(1)
		for _, maxLeap := range []int64{0, 5} {
			if d := cmp.Diff(stepped, run(maxLeap), cmp.AllowUnexported(journal{}),
				cmp.Comparer(func(a, b []sim.Memory) bool { return true })); d != "" {
				t.Fatalf("stepping (-) against leaps of %d (+):\n%s", maxLeap, d)
			}
		}
	})
	if leaps == 0 {
		t.Error("no leap was taken")
	}
}

// leapCounter counts leaps over several steps with drafts.
type leapCounter struct{ n *int }

func (c leapCounter) Steps(l *sim.Leap) {
	if l.Ends != nil {
		*c.n++
	}
}
func (leapCounter) Finished(*sim.Sequence)               {}
func (leapCounter) Rejected(*sim.Request, sim.Rejection) {}
func (leapCounter) Sampled(sim.Time, int, sim.State)     {}
