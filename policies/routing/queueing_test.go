package routing_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// tokenTime is the service time of a prompt token.
const tokenTime = sim.Microsecond

// perToken takes a time a token, so that a prompt of exponential length is an exponential service.
type perToken struct{}

func (perToken) Duration(s *sim.Step) sim.Time { return tokenTime * sim.Time(s.Tokens()) }

// poisson sends requests of one output token with exponential prompts of mean 1 s of service.
type poisson struct {
	rng  *rand.Rand
	left int
	rate float64
	at   sim.Time
}

func (p *poisson) NextArrival() sim.Time {
	if p.left == 0 {
		return sim.Never
	}
	return p.at
}

func (p *poisson) Next(r *sim.Request) {
	p.left--
	r.Arrival, r.Prompt, r.Output = p.at, 1+int(p.rng.ExpFloat64()*float64(sim.Second/tokenTime)), 1
	p.at += sim.Seconds(p.rng.ExpFloat64() / p.rate)
}

func (*poisson) Done(*sim.Request, sim.Time) {}
func (*poisson) Err() error                  { return nil }

// latency adds up the times that requests take, leaving out those at the start.
type latency struct {
	sim.NopObserver
	skip, n int
	sum     float64
}

func (l *latency) Finished(s *sim.Sequence) {
	if l.skip > 0 {
		l.skip--
		return
	}
	l.sum += s.E2E().Seconds()
	l.n++
}

// meanTime returns the mean time in a system of servers that each serve one request at a time, in
// units of the mean service.
func meanTime(t *testing.T, router sim.Router, servers int, load float64, requests int) float64 {
	t.Helper()
	seen := &latency{skip: requests / 5}
	c := sim.Config{
		Source: &poisson{rng: rand.New(rand.NewPCG(3, 5)), left: requests,
			rate: load * float64(servers)},
		Router: router, Observer: seen,
	}
	for range servers {
		s, err := batching.NewVLLMV1(1, math.MaxInt32, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(1<<40, 16)
		testkit.OK(t, err)
		c.Replicas = append(c.Replicas,
			sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: perToken{}})
	}
	if _, err := sim.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	return seen.sum / float64(seen.n)
}

// erlangC returns the mean time in an M/M/c queue with mean service 1 (Erlang, 1917).
func erlangC(servers int, load float64) float64 {
	a := load * float64(servers)
	b := 1.0 // Erlang B by its recursion
	for k := 1; k <= servers; k++ {
		b = a * b / (float64(k) + a*b)
	}
	wait := b / (1 - load*(1-b))
	return 1 + wait/(float64(servers)*(1-load))
}

// supermarket returns the mean time with d choices among many servers: Σ load^((d^i−d)/(d−1)), i
// from 1 (Mitzenmacher, IEEE TPDS 12(10), 2001, corollary 3).
func supermarket(d, load float64) float64 {
	if d == 1 {
		return 1 / (1 - load)
	}
	sum := 0.0
	for i := 1.0; i < 20; i++ {
		sum += math.Pow(load, (math.Pow(d, i)-d)/(d-1))
	}
	return sum
}

// The mean time in the system is what theory says: exactly for random routing (M/M/1) and for the
// least wait (M/M/c), in the limit of many servers for choices.
func TestRoutersAgainstQueueingTheory(t *testing.T) {
	requests, wider := 1_500_000, 1.0
	if testing.Short() { // errors grow with the root of what is left out
		requests, wider = requests/10, math.Sqrt(10)
	}
	choices := func(d int) sim.Router {
		c, err := routing.NewChoices(d, 1)
		testkit.OK(t, err)
		return c
	}
	for _, q := range []struct {
		name      string
		router    sim.Router
		servers   int
		load      float64
		want      float64
		tolerance float64
	}{
		{"random", routing.NewRandom(1), 100, 0.9, supermarket(1, 0.9), 0.03},
		{"one choice", choices(1), 100, 0.7, supermarket(1, 0.7), 0.02},
		{"two choices", choices(2), 500, 0.7, supermarket(2, 0.7), 0.02},
		{"two choices", choices(2), 500, 0.9, supermarket(2, 0.9), 0.03},
		{"three choices", choices(3), 500, 0.9, supermarket(3, 0.9), 0.03},
		{"least wait is one queue", leastWait{}, 4, 0.8, erlangC(4, 0.8), 0.02},
		{"least wait is one queue", leastWait{}, 20, 0.9, erlangC(20, 0.9), 0.02},
	} {
		got := meanTime(t, q.router, q.servers, q.load, requests)
		if tolerance := wider * q.tolerance; math.Abs(got/q.want-1) > tolerance {
			t.Errorf("%s, %d servers, load %.1f: mean time %.3f, want %.3f within %.0f%%", q.name,
				q.servers, q.load, got, q.want, 100*tolerance)
		}
	}
}

// The shortest queue is better than two choices and worse than one queue.
func TestShortestQueueLiesBetween(t *testing.T) {
	const servers, load = 100, 0.9
	got := meanTime(t, routing.LeastRequests{}, servers, load, 1_000_000)
	if best, worst := erlangC(servers, load), supermarket(2, load); got < best || got > worst {
		t.Errorf("mean time %.3f, want between %.3f and %.3f", got, best, worst)
	}
}

type leastWait struct{}

func (leastWait) Route(_ *sim.Request, pool *sim.Pool) int { return pool.LeastWait() }

// counted counts the requests of each replica.
type counted struct {
	sim.Router
	requests [4]int
}

func (c *counted) Route(r *sim.Request, pool *sim.Pool) int {
	i := c.Router.Route(r, pool)
	c.requests[i]++
	return i
}

// Each of n frontends gives all replicas as many requests, but for one, so that the replicas of all
// differ by n at most. The more frontends, the more the wait is like that of random routing.
func TestFrontendsTakeTurns(t *testing.T) {
	last := 0.0
	for _, n := range []int{1, 3, 1000} {
		f, err := routing.NewFrontends(n, 1)
		testkit.OK(t, err)
		router := &counted{Router: f}
		took := meanTime(t, router, len(router.requests), 0.8, 100_000)
		if took < last {
			t.Errorf("%d frontends: %g s, and %g with fewer", n, took, last)
		}
		last = took
		least, most := slices.Min(router.requests[:]), slices.Max(router.requests[:])
		if most-least > n {
			t.Errorf("%d frontends: replicas have %d requests", n, router.requests)
		}
	}
	if random := 1 / (1 - 0.8); math.Abs(last/random-1) > 0.15 {
		t.Errorf("1000 frontends: %g s, and %g at random", last, random)
	}
}
