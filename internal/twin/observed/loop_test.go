package observed_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// A client with a fixed number of streams, each of which sends when its answer is there, is found
// with that number, and its requests are due at once. Arrivals at random, or at an even pace, that
// do not follow the ends of answers are no loop.
func TestLoopsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		streams, n := rapid.IntRange(1, 20).Draw(t, "streams"), 0
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		ends := make([]float64, streams)
		var loop, open observed.Run
		at := 0.0
		for n = range streams + rapid.IntRange(20, 80).Draw(t, "requests") {
			q := observed.Request{Prompt: 5, Output: 2, TTFT: 0.1, E2E: 1 + 2*rng.Float64()}
			next := slices.Index(ends, slices.Min(ends))
			q.Arrival = ends[next] + 0.001*rng.Float64()
			ends[next] = q.Arrival + q.E2E
			loop.Requests = append(loop.Requests, q)
			q.Arrival = at
			at += (1 + 2*rng.Float64()) / float64(2*streams)
			open.Requests = append(open.Requests, q)
		}
		sent := slices.Clone(loop.Requests)
		slices.SortFunc(sent, func(a, b observed.Request) int {
			return cmp.Compare(a.Arrival, b.Arrival)
		})
		if !loop.Arrange() || loop.Load.Concurrency != streams {
			t.Fatalf("%d requests of %d streams: found %d", n+1, streams, loop.Load.Concurrency)
		}
		for i, q := range loop.Requests {
			if q.Start() != sent[i].Arrival || q.Arrival > sent[streams-1].Arrival {
				t.Errorf("request %d is due at %g s and sent at %g s, want %g s", i, q.Arrival,
					q.Start(), sent[i].Arrival)
			}
		}
		if before := fmt.Sprint(open); open.Arrange() || before != fmt.Sprint(open) {
			t.Errorf("arrivals at random are a loop of %d streams", open.Load.Concurrency)
		}
	})
	var paced observed.Run
	for i := range 200 {
		paced.Requests = append(paced.Requests, observed.Request{Arrival: float64(i) / 5,
			Prompt: 5, Output: 2, TTFT: 0.1, E2E: 2.97 + 0.02*float64(i%7)/7})
	}
	if paced.Arrange() {
		t.Errorf("arrivals at an even pace are a loop of %d streams", paced.Load.Concurrency)
	}
}

// A client that sends late only when as many requests are in flight as it may have is found, and
// keeps its times of arrival.
func TestLimitsOfClientsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var r observed.Run
		ends := make([]float64, limit)
		for i := range 20 * limit {
			q := observed.Request{Arrival: float64(i) / float64(limit), Prompt: 5, Output: 2,
				TTFT: 0.1, E2E: 1.2 + 2*rng.Float64()}
			next := slices.Index(ends, slices.Min(ends))
			q.Sent = max(q.Arrival, ends[next]+0.001)
			ends[next] = q.Sent + q.E2E
			r.Requests = append(r.Requests, q)
		}
		before := slices.Clone(r.Requests)
		if !r.Arrange() || r.Load.Concurrency != limit {
			t.Errorf("found %d in flight, want %d", r.Load.Concurrency, limit)
		}
		if fmt.Sprint(before) != fmt.Sprint(r.Requests) {
			t.Error("the times of arrival changed")
		}
	})
}
