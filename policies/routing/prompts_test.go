package routing_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// Pools that take prompts by their length are fleets of their own: each serves its requests, all of
// them and no others, as it does without the other pools, also in turn.
func TestPoolsOfPromptsAreFleetsOfTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := []int{0} // the longest prompts of pools; 0 for any
		for most := range rapid.IntRange(0, 2).Draw(t, "limits") {
			edges = slices.Insert(edges, 0, 120-50*most)
		}
		place := func(prompt int) int {
			for i, most := range edges {
				if most == 0 || prompt <= most {
					return i
				}
			}
			panic("the last pool takes any")
		}
		var replicas [][]func() sim.ReplicaConfig
		for _, most := range edges {
			var pool []func() sim.ReplicaConfig
			for range rapid.IntRange(1, 3).Draw(t, "replicas") {
				places := rapid.IntRange(1, 8).Draw(t, "places")
				pool = append(pool, func() sim.ReplicaConfig {
					s, err := batching.NewVLLMV1(places, 512, 0)
					testkit.OK(t, err)
					m, err := memory.NewPaged(60, 16)
					testkit.OK(t, err)
					return sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: paced{},
						MaxPrompt: most}
				})
			}
			replicas = append(replicas, pool)
		}
		tokens := func(pools [][]func() sim.ReplicaConfig, only int, requests sim.List) []string {
			var list []string
			c := sim.Config{Source: &requests, Router: &routing.RoundRobin{}, MaxLeap: 1,
				Tokens: func(s *sim.Sequence, n int, at sim.Time) {
					if i := place(s.Prompt); only < 0 || i == only {
						list = append(list, fmt.Sprint(s.Arrival, s.Prompt, s.Output, n, at))
					}
				}}
			for _, pool := range pools {
				for _, replica := range pool {
					c.Replicas = append(c.Replicas, replica())
				}
			}
			if len(pools) == 1 {
				for i := range c.Replicas {
					c.Replicas[i].MaxPrompt = 0
				}
			}
			_, err := sim.Run(context.Background(), c)
			testkit.OK(t, err)
			slices.Sort(list)
			return list
		}
		requests := drawn(t)
		for i := range edges {
			own := slices.DeleteFunc(slices.Clone(requests), func(r sim.Request) bool {
				return place(r.Prompt) != i
			})
			whole := tokens(replicas, i, slices.Clone(requests))
			if diff := cmp.Diff(tokens(replicas[i:i+1], i, own), whole); diff != "" {
				t.Fatalf("pool %d of %v (-alone +together):\n%s", i, edges, diff)
			}
		}
	})
}
