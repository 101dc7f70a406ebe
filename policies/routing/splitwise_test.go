package routing_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// shifting sends long prompts with short answers first, then short prompts with long answers.
type shifting struct {
	rng  *rand.Rand
	left int
	at   sim.Time
}

func (p *shifting) NextArrival() sim.Time {
	if p.left == 0 {
		return sim.Never
	}
	return p.at
}

func (p *shifting) Next(r *sim.Request) {
	r.Arrival, r.Prompt, r.Output = p.at, 3000, 30
	rate := 6.0
	if p.left < 1500 {
		r.Prompt, r.Output, rate = 200, 600, 5
	}
	p.left--
	p.at += sim.Seconds(p.rng.ExpFloat64() / rate)
}

func (*shifting) Done(*sim.Request, sim.Time) {}
func (*shifting) Err() error                  { return nil }

// a100 resembles Llama-2-70B on a DGX A100: 30 ms a step, 0.15 ms a token, 0.2 µs a context token.
type a100 struct{}

func (a100) Duration(s *sim.Step) sim.Time {
	return 30*sim.Millisecond + 150*sim.Microsecond*sim.Time(s.Tokens()) +
		200*sim.Nanosecond*sim.Time(s.Context)
}

func (a a100) Decode(n int, _ int64) sim.Affine {
	return sim.Affine{Base: 30*sim.Millisecond + 150*sim.Microsecond*sim.Time(n),
		PerToken: 200 * sim.Nanosecond, Through: int64(sim.Never)}
}

// meanLatency serves the shifting load with replicas of the given roles.
func meanLatency(t *testing.T, router sim.Router, roles ...sim.Role) float64 {
	t.Helper()
	seen := &latency{}
	c := sim.Config{
		Source: &shifting{rng: rand.New(rand.NewPCG(1, 2)), left: 3000}, Router: router,
		Handover: router, Observer: seen,
		Links: []sim.Link{{Bandwidth: 25e9}},
	}
	for _, role := range roles {
		s, err := batching.NewVLLMV1(64, 2048, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(20_000, 16)
		testkit.OK(t, err)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: a100{},
			Role: role, KVBytes: sim.Footprint[int64]{Token: 327_680}, Layers: 80})
	}
	r, err := sim.Run(context.Background(), c)
	if err != nil || r.Completed != 3000 {
		t.Fatalf("%+v, %v", r, err)
	}
	return seen.sum / float64(seen.n)
}

// When the load shifts between prompts and answers, replicas in the mixed pool help where they are
// needed (Splitwise, ISCA 2024, section 4.2).
func TestMixedPoolFollowsTheLoad(t *testing.T) {
	splitwise, err := routing.NewSplitwise(6000)
	testkit.OK(t, err)
	mixed := meanLatency(t, splitwise, sim.Prefill, sim.Mixed, sim.Mixed, sim.Decode)
	for name, roles := range map[string][]sim.Role{
		"two and two":   {sim.Prefill, sim.Prefill, sim.Decode, sim.Decode},
		"three and one": {sim.Prefill, sim.Prefill, sim.Prefill, sim.Decode},
		"one and three": {sim.Prefill, sim.Decode, sim.Decode, sim.Decode},
	} {
		fixed := meanLatency(t, routing.LeastTokens{}, roles...)
		t.Logf("%s: %.2f s, %.2f s with a mixed pool", name, fixed, mixed)
		if mixed >= fixed {
			t.Errorf("mean latency %.2f s with a mixed pool, %.2f s with fixed pools of %s", mixed,
				fixed, name)
		}
	}
}
