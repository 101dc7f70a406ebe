package routing_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// After as many requests as the weights sum up to, each replica has had its weight, and at any time
// it is less than one request for each other replica from its share. Equal weights are turns.
func TestWeightedSendsShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 6).Draw(t, "weights")
		c := sim.Config{}
		sum := 0
		for _, w := range weights {
			s, err := batching.NewVLLMV1(1000, 1<<20, 0)
			testkit.OK(t, err)
			m, err := memory.NewPaged(1<<20, 16)
			testkit.OK(t, err)
			c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m,
				Clock: ticks{}, Weight: float64(w)})
			sum += w
		}
		requests := make(sim.List, 3*sum)
		for i := range requests {
			requests[i] = sim.Request{Prompt: 1, Output: 1}
		}
		c.Source = &requests
		router, turns := &routing.Weighted{}, &routing.RoundRobin{}
		sent, all := make([]int, len(weights)), 0
		equal := sum == weights[0]*len(weights)
		for _, w := range weights {
			equal = equal && w == weights[0]
		}
		c.Router = route(func(r *sim.Request, pool *sim.Pool) int {
			got := router.Route(r, pool)
			if want := turns.Route(r, pool); equal && got != want {
				t.Fatalf("request %d to replica %d, in turn to %d", all, got, want)
			}
			sent[got]++
			all++
			for i, w := range weights {
				share := float64(all*w) / float64(sum)
				if off := math.Abs(float64(sent[i]) - share); off >= float64(len(weights)) ||
					all%sum == 0 && off > 0 {
					t.Fatalf("%d of %d requests to replica %d of weight %d in %d", sent[i], all,
						i, w, sum)
				}
			}
			return got
		})
		_, err := sim.Run(context.Background(), c)
		testkit.OK(t, err)
	})
}
