package batching_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// chat draws requests of a few tenants and priorities, with normal lengths: Poisson arrivals at a
// rate, or of users each of whom sends the next request when the last is done.
type chat struct {
	rng   *rand.Rand
	left  int
	at    sim.Time
	rate  float64
	ready int // users who send a request now
}

func (c *chat) NextArrival() sim.Time {
	if c.left == 0 || c.rate == 0 && c.ready == 0 {
		return sim.Never
	}
	return c.at
}

func (c *chat) Next(r *sim.Request) {
	c.left--
	c.ready--
	*r = sim.Request{
		Arrival: c.at, Prompt: c.length(500, 200), Output: c.length(250, 100),
		Content: r.Content[:0],
		Tenant:  c.rng.IntN(8), Priority: c.rng.IntN(3), Deadline: c.at + 20*sim.Second,
	}
	if c.rate > 0 {
		c.at += sim.Seconds(c.rng.ExpFloat64() / c.rate)
	}
}

func (c *chat) length(mean, deviation float64) int {
	return min(max(int(mean+deviation*c.rng.NormFloat64()), 2), int(4*mean))
}

func (c *chat) Done(_ *sim.Request, at sim.Time) {
	if c.rate == 0 {
		c.ready++
		c.at = at
	}
}
func (c *chat) Err() error { return nil }

// clock resembles Llama-3.1-8B on one H100: 6.5 ms a step, 8 µs a token, 49 ns a context token.
type clock struct{}

func (clock) Duration(s *sim.Step) sim.Time {
	d := 6500*sim.Microsecond + 8*sim.Microsecond*sim.Time(s.Tokens()) +
		49*sim.Nanosecond*sim.Time(s.Context)
	for i := range s.Prefill {
		d += 49 * sim.Nanosecond * sim.Time(s.Prefill[i].Cached+s.Prefill[i].Rows())
	}
	return d
}

func (clock) Decode(n int, _ int64) sim.Affine {
	return sim.Affine{Base: 6500*sim.Microsecond + 8*sim.Microsecond*sim.Time(n),
		PerToken: 49 * sim.Nanosecond, Through: int64(sim.Never)}
}

// load is how much there is to do, and how much room.
type load struct {
	name   string
	rate   float64 // of arrivals, 0 where users send requests
	users  int
	blocks int64
}

// serve runs n requests under a policy of the registry, in batches of at most 256.
func (l *load) serve(t testing.TB, p *policies.Policy[sim.Scheduler], n int) sim.ReplicaResult {
	t.Helper()
	params := map[string]string{}
	for _, param := range p.Params() {
		switch param.Name {
		case "max-sequences", "max-batch", "batch-size":
			params[param.Name] = "256"
		}
	}
	s, err := p.Build(policies.Deployment{KVTokens: l.blocks * 16, MaxContext: 3000}, params)
	testkit.OK(t, err)
	m, err := memory.NewPaged(l.blocks, 16)
	testkit.OK(t, err)
	r, err := sim.Run(context.Background(), sim.Config{
		Source:   &chat{rng: rand.New(rand.NewPCG(1, 2)), left: n, rate: l.rate, ready: l.users},
		Router:   &routing.RoundRobin{},
		Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m, Clock: clock{}}},
	})
	if err != nil || r.Completed != int64(n) {
		t.Fatal(r, err)
	}
	return r.Replicas[0]
}

// loads are one with room for all, one with a full batch and others waiting, and one with too
// little KV memory.
func loads() []load {
	return []load{{"steady", 20, 0, 28000}, {"full", 0, 384, 28000}, {"pressure", 0, 64, 2000}}
}

// The cost of a request under each policy.
func BenchmarkPolicies(b *testing.B) {
	all := policies.Default().Batching.Policies
	for _, l := range loads() {
		for i := range all {
			b.Run(l.name+"/"+all[i].Name, func(b *testing.B) {
				b.ReportAllocs()
				r := l.serve(b, &all[i], b.N)
				b.ReportMetric(float64(r.Steps)/float64(b.N), "steps/request")
				b.ReportMetric(float64(r.Preemptions)/float64(b.N), "preemptions/request")
			})
		}
	}
}

// No policy allocates for each request: twice as many do not allocate more.
func TestNoPolicyAllocatesPerRequest(t *testing.T) {
	all := policies.Default().Batching.Policies
	for _, l := range loads() {
		for i := range all {
			allocations := func(n int) float64 {
				return testing.AllocsPerRun(1, func() { l.serve(t, &all[i], n) })
			}
			if few, many := allocations(4000), allocations(8000); many > few+40 {
				t.Errorf("%s under load %q: %.0f allocations for 4000 requests, %.0f for 8000",
					all[i].Name, l.name, few, many)
			}
		}
	}
}
