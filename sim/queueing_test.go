package sim_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// poissonSource sends requests of one output token whose prompts are drawn by a function.
type poissonSource struct {
	rng    *rand.Rand
	left   int
	at     sim.Time
	rate   float64
	prompt func(*rand.Rand) int
}

func (p *poissonSource) NextArrival() sim.Time {
	if p.left == 0 {
		return sim.Never
	}
	return p.at
}

func (p *poissonSource) Next(r *sim.Request) {
	p.left--
	r.Arrival, r.Prompt, r.Output = p.at, p.prompt(p.rng), 1
	p.at += sim.Seconds(p.rng.ExpFloat64() / p.rate)
}

func (p *poissonSource) Done(*sim.Request, sim.Time) {}
func (p *poissonSource) Err() error                  { return nil }

// ttftSum adds up times to first token.
type ttftSum struct {
	sim.NopObserver
	sum float64
	n   int
}

func (t *ttftSum) Finished(s *sim.Sequence) {
	t.sum += s.TTFT().Seconds()
	t.n++
}

// meanTTFT serves requests one at a time and returns their mean time to first token in seconds.
func meanTTFT(t *testing.T, source sim.Source, clock sim.StepClock, stages int) float64 {
	t.Helper()
	s, err := batching.NewVLLMV1(1, math.MaxInt32, 0)
	testkit.OK(t, err)
	m, err := memory.NewPaged(1<<40, 16)
	testkit.OK(t, err)
	var sum ttftSum
	_, err = sim.Run(context.Background(), sim.Config{
		Source: source, Router: &routing.RoundRobin{}, Observer: &sum,
		Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m, Clock: clock, Stages: stages}},
	})
	testkit.OK(t, err)
	return sum.sum / float64(sum.n)
}

// One request at a time is a single-server queue: the mean wait has a closed form.
//   - deterministic service, M/D/1: D + R·D²/(2(1−R·D)) (DistServe, OSDI 2024, equation 1)
//   - two pipeline stages of half the time each: D + R·D²/(4(2−R·D)) (equation 2)
//   - tensor parallelism with speed-up K: D/K + R·D²/(2K(K−R·D)) (equation 3)
//   - exponential service, M/M/1: D/(1−R·D)
func TestClosedFormQueues(t *testing.T) {
	requests, tolerance, loads := 3_000_000, 0.02, []float64{0.3, 0.6, 0.9}
	if testing.Short() { // errors grow with the root of what is left out
		requests, tolerance = requests/10, tolerance*math.Sqrt(10)
		loads = testkit.DrawCases(t, 1, loads)
	}
	const d = 0.05 // seconds of service
	const speedup = 1.7
	one := func(*rand.Rand) int { return 1 }
	exponential := func(r *rand.Rand) int { return 1 + int(r.ExpFloat64()*100_000) }
	for _, q := range []struct {
		name   string
		prompt func(*rand.Rand) int
		clock  affineClock
		stages int
		want   func(r float64) float64
	}{
		{"M/D/1", one, affineClock{base: sim.Seconds(d)}, 1, func(r float64) float64 {
			return d + r*d*d/(2*(1-r*d))
		}},
		{"PP2", one, affineClock{base: sim.Seconds(d / 2)}, 2, func(r float64) float64 {
			return d + r*d*d/(4*(2-r*d))
		}},
		{"TP2", one, affineClock{base: sim.Seconds(d / speedup)}, 1, func(r float64) float64 {
			return d/speedup + r*d*d/(2*speedup*(speedup-r*d))
		}},
		{"M/M/1", exponential, affineClock{perToken: sim.Seconds(d / 100_000)}, 1,
			func(r float64) float64 { return d / (1 - r*d) }},
	} {
		for _, load := range loads {
			rate := load / d
			source := &poissonSource{rng: rand.New(rand.NewPCG(7, 11)), left: requests, rate: rate,
				prompt: q.prompt}
			got, want := meanTTFT(t, source, q.clock, q.stages), q.want(rate)
			if math.Abs(got/want-1) > tolerance {
				t.Errorf("%s at load %.1f: mean TTFT %.5f s, want %.5f s within %.1f%%", q.name,
					load, got, want, 100*tolerance)
			}
		}
	}
}
