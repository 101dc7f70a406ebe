package sim_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// stays is an observer that sums up the times from the arrivals of requests to their ends, by
// class.
type stays struct {
	sim.NopObserver
	now   func() sim.Time
	times [3]sim.Time
}

func (s *stays) Finished(q *sim.Sequence) { s.times[q.Class] += q.LastToken - q.Arrival }

func (s *stays) Rejected(q *sim.Request, _ sim.Rejection) {
	s.times[q.Class] += max(0, s.now()-q.Arrival)
}

// Little's law is an identity: the integral of the number of requests in the system is the sum of
// the times that they spend there, to the tick. It holds for all requests and for each class,
// whatever fails, moves, waits elsewhere or goes away. Classes and tenants together are all, and no
// replica runs or waits more than there is.
func TestLittlesLawHoldsToTheTick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		for i := range c.requests {
			q := &c.requests[i]
			q.Class = rapid.IntRange(0, 2).Draw(t, "class")
			q.Tenant = q.Class
		}
		config, _ := c.config(t, int64(rapid.IntRange(0, 2).Draw(t, "leap")))
		seen := &stays{}
		config.Classes, config.Tenants = 3, 3
		config.Observer = sim.Observers{seen, config.Observer}
		for i := range config.Replicas {
			config.Replicas[i].Set = i % 2
		}
		s, err := sim.New(config)
		testkit.OK(t, err)
		seen.now = s.Now
		testkit.OK(t, s.Advance(sim.Never))
		testkit.OK(t, s.Err())
		r := s.Result()
		var all, apart sim.Load
		for i, l := range r.Classes {
			if got := whole(t, l.Waiting) + whole(t, l.Running); got != seen.times[i] {
				t.Fatalf("class %d is in the system for %v, and its requests for %v", i, got,
					seen.times[i])
			}
			add(&all, l)
			if r.Tenants[i] != l {
				t.Fatalf("tenant %d: %+v, class: %+v", i, r.Tenants[i], l)
			}
		}
		if all.Waiting.Integral != r.Load.Waiting.Integral ||
			all.Running.Integral != r.Load.Running.Integral ||
			all.Waiting.Peak < r.Load.Waiting.Peak || all.Running.Peak < r.Load.Running.Peak {
			t.Fatalf("classes together %+v, all %+v", all, r.Load)
		}
		for _, l := range r.Sets {
			add(&apart, l)
		}
		if len(r.Sets) > 0 && (apart.Running.Integral != r.Load.Running.Integral ||
			whole(t, apart.Waiting) > whole(t, r.Load.Waiting)) {
			t.Fatalf("sets together %+v, all %+v", apart, r.Load)
		}
		for _, l := range []sim.Level{r.Load.Waiting, r.Load.Running} {
			if mean := l.Integral.Over(r.End); mean > float64(l.Peak)*(1+1e-12) {
				t.Fatalf("a mean of %v, and at most %d", mean, l.Peak)
			}
		}
	})
}

// whole returns an integral that fits into 63 bits.
func whole(t *rapid.T, l sim.Level) sim.Time {
	if l.Integral.High != 0 || l.Integral.Low > math.MaxInt64 {
		t.Fatalf("a negative or very large integral: %+v", l)
	}
	return sim.Time(l.Integral.Low)
}

func add(sum *sim.Load, l sim.Load) {
	for _, p := range [][2]*sim.Level{{&sum.Waiting, &l.Waiting}, {&sum.Running, &l.Running}} {
		p[0].Integral.Low += p[1].Integral.Low
		p[0].Peak += p[1].Peak
	}
}

// Where all that happens does so at multiples of a tact, the state is constant in between. So
// samples in the middle of each tact give the integrals and the peaks of waiting and running
// requests and of KV memory.
func TestIntegralsAreSumsOfStates(t *testing.T) {
	const tact = sim.Time(1000)
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.sampleEvery = tact / 2
		c.clock = affineClock{base: tact * span(t, "base", 1, 2, 5), perToken: tact * span(t,
			"token", 0, 0, 1), perContext: tact * span(t, "context", 0, 0, 1)}
		c.requests = c.requests[:min(len(c.requests), 7)]
		at := sim.Time(0)
		for i := range c.requests {
			q := &c.requests[i]
			q.Prompt, q.Output, q.Content = 1+q.Prompt%20, 1+q.Output%20, nil
			if c.prefixCache {
				drawContent(t, q)
			}
			at += tact * span(t, "wait", 0, 1, 7)
			q.Arrival, q.Patience = at, tact*span(t, "patience", 0, 0, 50)
		}
		config, j := c.config(t, int64(rapid.IntRange(0, 3).Draw(t, "leap")))
		r, err := sim.Run(context.Background(), config)
		testkit.OK(t, err)
		var sum sim.Load
		kv := make([]sim.Level, c.replicas)
		for i := c.replicas; i < len(j.samples); i += 2 * c.replicas {
			var waiting, running int64
			for k := range c.replicas {
				s := &j.samples[i+k].State
				waiting, running = waiting+int64(s.Waiting), running+int64(s.Running)
				raise(&kv[k], s.Used, tact)
			}
			raise(&sum.Waiting, waiting, tact)
			raise(&sum.Running, running, tact)
		}
		if r.Load != sum {
			t.Fatalf("load %+v, want %+v", r.Load, sum)
		}
		for k, want := range kv {
			if got := r.Replicas[k]; got.KVIntegral != want.Integral || got.KVPeak != want.Peak {
				t.Fatalf("replica %d: KV memory %+v and %d at most, want %+v", k, got.KVIntegral,
					got.KVPeak, want)
			}
		}
	})
}

func raise(l *sim.Level, n int64, span sim.Time) {
	l.Integral.Add(n, span)
	l.Peak = max(l.Peak, n)
}
