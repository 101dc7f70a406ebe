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

// serveAbroad runs requests of one token on replicas that are the given round trips away, by the
// region of a user and then by replica.
func serveAbroad(t rapid.TB, router sim.Router, trips [][]sim.Time, requests sim.List) {
	c := sim.Config{Source: &requests, Router: router}
	for i := range trips[0] {
		s, err := batching.NewVLLMV1(1000, 1<<20, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(1<<20, 16)
		testkit.OK(t, err)
		r := sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: ticks{}}
		for _, region := range trips {
			r.RoundTrips = append(r.RoundTrips, region[i])
		}
		c.Replicas = append(c.Replicas, r)
	}
	_, err := sim.Run(context.Background(), c)
	testkit.OK(t, err)
}

// Where each replica is as far away as no other, the nearest one with fewer requests than the limit
// is chosen, and the nearest of all if there is none.
func TestNearestSpillsOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spill := rapid.IntRange(1, 4).Draw(t, "spill")
		nearest, err := routing.NewNearest(spill, 3)
		testkit.OK(t, err)
		order := rapid.Permutation([]sim.Time{1, 2, 3, 4, 5, 6, 7, 8})
		n := rapid.IntRange(1, 8).Draw(t, "replicas")
		trips := [][]sim.Time{order.Draw(t, "here")[:n], order.Draw(t, "there")[:n]}
		var requests sim.List
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			requests = append(requests, sim.Request{Prompt: 1, Output: 9,
				Region: rapid.IntRange(0, 1).Draw(t, "region")})
		}
		serveAbroad(t, route(func(r *sim.Request, pool *sim.Pool) int {
			want, first := -1, 0
			for i, trip := range trips[r.Region] {
				if trip < trips[r.Region][first] {
					first = i
				}
				if pool.Requests(i) < spill && (want < 0 || trip < trips[r.Region][want]) {
					want = i
				}
			}
			if want < 0 {
				want = first
			}
			got := nearest.Route(r, pool)
			if got != want {
				t.Fatalf("replica %d was chosen, want %d", got, want)
			}
			return got
		}), trips, requests)
	})
}

// Among replicas that are as far away, the better of two draws gets the request, as with choices:
// of one busy and three idle replicas, the busy one gets a request in one case of sixteen.
func TestNearestDrawsTwo(t *testing.T) {
	const sent = 20_000
	nearest, err := routing.NewNearest(sent, 5)
	testkit.OK(t, err)
	near, far := sim.Time(1), sim.Time(2)
	requests := make(sim.List, sent)
	for i := range requests {
		requests[i] = sim.Request{Arrival: sim.Time(i) * 5 * sim.Millisecond, Prompt: 1,
			Output: 1}
	}
	requests[0].Output = 1 << 20 // for longer than all the others
	busy := 0
	serveAbroad(t, route(func(r *sim.Request, pool *sim.Pool) int {
		if r.Output > 1 {
			return 2
		}
		got := nearest.Route(r, pool)
		switch got {
		case 0:
			t.Fatal("a replica farther away was chosen")
		case 2:
			busy++
		}
		return got
	}), [][]sim.Time{{far, near, near, near, near}}, requests)
	if want := sent / 16.0; math.Abs(float64(busy)-want) > 5*math.Sqrt(want) {
		t.Errorf("the busy replica got %d requests of %d, want %g", busy, sent, want)
	}
}
