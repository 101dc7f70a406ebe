package routing_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// watched holds each choice of a router against what the choice should cost least.
type watched struct {
	*rapid.T
	sim.Router
	// cost is that of a replica for a request.
	cost func(r *sim.Request, pool *sim.Pool, replica int) float64
}

func (w watched) Route(r *sim.Request, pool *sim.Pool) int {
	chosen := w.Router.Route(r, pool)
	for n := range pool.Len() {
		i := pool.At(n)
		least, got := w.cost(r, pool, i), w.cost(r, pool, chosen)
		if least < got || least == got && i < chosen {
			w.Fatalf("replica %d was chosen at a cost of %g, and %d costs %g", chosen, got, i,
				least)
		}
	}
	return chosen
}

// ticks is a clock of equal steps.
type ticks struct{}

func (ticks) Duration(*sim.Step) sim.Time { return sim.Millisecond }

// Each router that looks for the least load chooses it at every arrival, whatever replicas of
// different memories and batches hold at that time; of equal loads, that of the first replica.
func TestRoutersChooseTheLeast(t *testing.T) {
	costs := map[string]func(*sim.Request, *sim.Pool, int) float64{
		"requests": func(_ *sim.Request, p *sim.Pool, i int) float64 {
			return float64(p.Requests(i))
		},
		"tokens": func(_ *sim.Request, p *sim.Pool, i int) float64 { return float64(p.Tokens(i)) },
		// a request that waits weighs as much as a full memory
		"KV memory": func(_ *sim.Request, p *sim.Pool, i int) float64 {
			s := p.State(i)
			return float64(s.Used)/float64(s.Capacity) + float64(s.Waiting)
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		kv, err := routing.NewKVAware(0, 0, 1)
		testkit.OK(t, err)
		routers := map[string]sim.Router{"requests": routing.LeastRequests{},
			"tokens": routing.LeastTokens{}, "KV memory": kv}
		kind := rapid.SampledFrom([]string{"requests", "tokens", "KV memory"}).Draw(t, "kind")
		var requests sim.List
		at := sim.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			at += sim.Time(rapid.IntRange(0, 9).Draw(t, "gap")) * sim.Millisecond
			requests = append(requests, sim.Request{Arrival: at,
				Prompt: rapid.IntRange(1, 200).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 60).Draw(t, "output")})
		}
		c := sim.Config{Source: &requests, Router: watched{t, routers[kind], costs[kind]}}
		for range rapid.IntRange(1, 4).Draw(t, "replicas") {
			s, err := batching.NewVLLMV1(rapid.IntRange(1, 8).Draw(t, "places"), 512, 0)
			testkit.OK(t, err)
			m, err := memory.NewPaged(rapid.Int64Range(20, 100).Draw(t, "blocks"), 16)
			testkit.OK(t, err)
			c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m,
				Clock: ticks{}})
		}
		if _, err := sim.Run(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	})
}
