package sim_test

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

// h100 resembles Llama-3.1-8B on one H100: 6.5 ms a step, 8 µs a token, 49 ns a context token.
var h100 = affineClock{base: 6500 * sim.Microsecond, perToken: 8 * sim.Microsecond,
	perContext: 49 * sim.Nanosecond}

func benchmarkConfig(b testing.TB, n int64, rate float64, replicas int, blocks int64,
	outputMean float64) sim.Config {
	c := sim.Config{
		Source: &drawSource{rng: rand.New(rand.NewPCG(1, 2)), left: n, rate: rate, promptMean: 500,
			promptStd: 200, outputMean: outputMean, outputStd: 100, promptLimit: 2000,
			outputMax: 4 * int(outputMean)},
		Router: &routing.RoundRobin{},
	}
	for range replicas {
		s, err := batching.NewVLLMV1(256, 8192, 0)
		testkit.OK(b, err)
		m, err := memory.NewPaged(blocks, 16)
		testkit.OK(b, err)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: h100})
	}
	return c
}

func BenchmarkRun(b *testing.B) {
	for _, bc := range []struct {
		name     string
		rate     float64
		replicas int
		blocks   int64
		output   float64
	}{
		{"steady", 20, 1, 28000, 250},
		{"outputs×10", 2, 1, 28000, 2500},
		{"replicas=8", 160, 8, 28000, 250},
		{"overload", 100, 1, 28000, 250},
		{"pressure", 60, 1, 2000, 250},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			c := benchmarkConfig(b, int64(b.N), bc.rate, bc.replicas, bc.blocks, bc.output)
			r, err := sim.Run(context.Background(), c)
			if err != nil || r.Completed != int64(b.N) {
				b.Fatal(r, err)
			}
			var steps, preemptions int64
			for _, rr := range r.Replicas {
				steps += rr.Steps
				preemptions += rr.Preemptions
			}
			b.ReportMetric(float64(steps)/float64(b.N), "steps/request")
			b.ReportMetric(float64(preemptions)/float64(b.N), "preemptions/request")
		})
	}
}

// a100 is half as fast.
var a100 = affineClock{base: 12000 * sim.Microsecond, perToken: 20 * sim.Microsecond,
	perContext: 80 * sim.Nanosecond}

// Fleets cost by the request, not by the replica: nothing scans them, whether replicas are equal or
// not.
func BenchmarkFleet(b *testing.B) {
	for _, bc := range []struct {
		name     string
		replicas int
		router   sim.Router
		slow     int // of them
	}{
		{"replicas=64/round-robin", 64, &routing.RoundRobin{}, 0},
		{"replicas=64/least-requests", 64, routing.LeastRequests{}, 0},
		{"replicas=64/unequal", 64, routing.LeastRequests{}, 32},
		{"replicas=1000/round-robin", 1000, &routing.RoundRobin{}, 0},
		{"replicas=1000/least-requests", 1000, routing.LeastRequests{}, 0},
		{"replicas=1000/unequal", 1000, routing.LeastRequests{}, 500},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			c := benchmarkConfig(b, int64(b.N), 20*float64(bc.replicas), bc.replicas, 28000, 250)
			c.Router = bc.router
			for i := range bc.slow {
				c.Replicas[i].Clock = a100
			}
			r, err := sim.Run(context.Background(), c)
			if err != nil || r.Completed != int64(b.N) {
				b.Fatal(r, err)
			}
		})
	}
}
