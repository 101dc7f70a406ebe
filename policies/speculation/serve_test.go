package speculation_test

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// answers are n requests at the start with answers of the given number of tokens.
func answers(n, tokens int) []sim.Request {
	requests := make([]sim.Request, n)
	for i := range requests {
		requests[i] = sim.Request{Prompt: 1, Output: tokens}
	}
	return requests
}

// linear takes base for a step, and perToken for each of its tokens.
type linear struct{ base, perToken sim.Time }

func (c linear) Duration(s *sim.Step) sim.Time {
	return c.base + c.perToken*sim.Time(s.Tokens())
}

// drafter takes the same time and arithmetic for each token in a row and for each sequence.
type drafter struct {
	pass  sim.Time
	flops float64
}

func (d drafter) Duration(l *speculation.Load) sim.Time {
	var t sim.Time
	for _, n := range l.Sequences {
		if n > 0 {
			t += d.pass
		}
	}
	return t
}

func (d drafter) FLOPs(l *speculation.Load) float64 {
	total := 0.0
	for i, n := range l.Sequences {
		total += float64(n*l.Expanded[i]) * d.flops
	}
	return total
}

func speculator(t testkit.Test, c speculation.Config) *speculation.Speculator {
	p, err := speculation.New(c)
	testkit.OK(t, err)
	return p
}

func constant(t testkit.Test, alpha float64) speculation.Acceptance {
	a, err := speculation.Constant(alpha)
	testkit.OK(t, err)
	return a
}

// serve runs the requests on one replica with memory for all of them, at most the given number at a
// time; p may be nil.
func serve(t *testing.T, requests []sim.Request, together int, clock sim.StepClock,
	p sim.Speculator, observer sim.Observer) sim.ReplicaResult {
	t.Helper()
	s, err := batching.NewVLLMV1(together, math.MaxInt32, 0)
	testkit.OK(t, err)
	m, err := memory.NewPaged(1<<40, 16)
	testkit.OK(t, err)
	source := sim.List(requests)
	r, err := sim.Run(context.Background(), sim.Config{
		Source: &source, Router: &routing.RoundRobin{}, Observer: observer,
		Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m, Clock: clock, Speculator: p}},
	})
	testkit.OK(t, err)
	return r.Replicas[0]
}

// tokensPerStep returns the mean number of tokens that a step gave to a sequence, and the number of
// such steps.
func tokensPerStep(r sim.ReplicaResult) (mean, steps float64) {
	steps = float64(r.DecodeTokens - r.Drafted)
	return float64(r.Sampled-r.Completed) / steps, steps
}
