package sim_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// leastOfAll is a router that holds the least replica of each measure against all replicas.
type leastOfAll struct{ t *rapid.T }

func (l leastOfAll) Route(r *sim.Request, pool *sim.Pool) int {
	chosen := []int{pool.LeastRequests(), pool.LeastTokens(), pool.LeastPending(),
		pool.LeastWait()}
	for by, measure := range []func(i int) int64{
		func(i int) int64 { return int64(pool.Requests(i)) }, pool.Tokens, pool.Pending,
		func(i int) int64 { return int64(pool.Wait(i, r.Prompt)) },
	} {
		for n := range pool.Len() {
			if i := pool.At(n); measure(i) < measure(chosen[by]) {
				l.t.Fatalf("by measure %d, replica %d has %d, and %d has %d, at %v", by,
					chosen[by], measure(chosen[by]), i, measure(i), pool.Now())
			}
		}
	}
	return chosen[r.Tenant]
}

// At each arrival the replica with the least of something is known, however large the pool is and
// whatever ended since.
func TestLeastOfAllReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requests sim.List
		at := sim.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			at += sim.Time(rapid.IntRange(0, 9).Draw(t, "gap")) * sim.Millisecond
			requests = append(requests, sim.Request{Arrival: at,
				Prompt: rapid.IntRange(1, 200).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 9).Draw(t, "output"),
				Tenant: rapid.IntRange(0, 3).Draw(t, "by")})
		}
		c := sim.Config{Source: &requests, Router: leastOfAll{t}}
		for range rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "replicas") {
			s, err := batching.NewVLLMV1(2, 64, 0)
			testkit.OK(t, err)
			m, err := memory.NewPaged(40, 16)
			testkit.OK(t, err)
			c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m,
				Clock: affineClock{base: sim.Millisecond, perToken: 100 * sim.Microsecond}})
		}
		_, err := sim.Run(context.Background(), c)
		testkit.OK(t, err)
	})
}

// Of a prompt that was served before, all full blocks but the last token's are found once each.
func TestPromptsAreFoundInTheCache(t *testing.T) {
	for prompt, cached := range map[int]int{64: 48, 65: 64, 16: 0, 17: 16, 1: 0} {
		const n = 5
		var requests sim.List
		for i := range n {
			requests = append(requests, sim.Request{Arrival: sim.Time(i) * sim.Second,
				Prompt: prompt, Output: 3, Content: []sim.Segment{{ID: 1, Tokens: prompt}}})
		}
		c := oneReplica(affineClock{base: sim.Millisecond})
		m, err := memory.NewPrefixCache(100, 16)
		testkit.OK(t, err)
		c.Source, c.Replicas[0].Memory = &requests, m
		r, err := sim.Run(context.Background(), c)
		testkit.OK(t, err)
		if got := r.Replicas[0].CachedTokens; got != int64((n-1)*cached) {
			t.Errorf("%d requests of %d tokens find %d, want %d", n, prompt, got, (n-1)*cached)
		}
	}
}
