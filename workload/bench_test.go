package workload

import (
	"testing"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// loads are workloads whose cost a request is of interest; the first is the one of the speed
// target.
func loads() map[string]Config {
	prompt, output := must(lengths.Normal(500, 200, 2, 2000)),
		must(lengths.Normal(250, 100, 2, 1000))
	class := Class{Weight: 1, Prompt: prompt, Output: output}
	grouped, talking := class, class
	grouped.Prefix = &Prefix{Groups: 100, Tokens: fixed(512), Zipf: 1}
	talking.Turns = &Turns{Count: fixed(4),
		Think: arrivals.Delay{Mean: sim.Second, Shape: arrivals.Exponential{}}}
	const many = 1 << 40
	return map[string]Config{
		"poisson": {Arrivals: poisson(20), Requests: many, Classes: []Class{class}},
		"classes": {Arrivals: poisson(20), Requests: many,
			Classes: []Class{class, grouped, class}},
		"users": {Users: &Users{
			Count: 64, Think: arrivals.Delay{Mean: sim.Second, Shape: arrivals.Exponential{}}},
			Requests: many, Classes: []Class{class}},
		"conversations": {Arrivals: poisson(20), Requests: many, Classes: []Class{talking}},
	}
}

// pump takes one request from a source and reports to it that the request before the last 49 is
// done.
func pump(s Source) func() {
	var ring [50]sim.Request
	i, n := 0, 0
	return func() {
		r := &ring[i]
		if n == len(ring) {
			s.Done(r, max(r.Arrival+sim.Second, ring[(i+len(ring)-1)%len(ring)].Arrival))
		}
		if s.NextArrival() != sim.Never {
			s.Next(r)
		}
		i = (i + 1) % len(ring)
		n = min(n+1, len(ring))
	}
}

// In steady state a request costs no allocation, whatever the workload.
func TestRequestsAllocateNothing(t *testing.T) {
	for name, c := range loads() {
		step := pump(open(t, c))
		for range 200_000 {
			step()
		}
		if got := testing.AllocsPerRun(20_000, step); got != 0 {
			t.Errorf("%s: %g allocations a request", name, got)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	for name, c := range loads() {
		b.Run(name, func(b *testing.B) {
			step := pump(open(b, c))
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
