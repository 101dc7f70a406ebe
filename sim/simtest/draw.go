package simtest

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// draw makes up a simulation.
func draw(p Policies, seed uint64, r *record) sim.Config {
	rng := rand.New(rand.NewPCG(seed, 0x73696d74657374))
	kind := clock{
		base:       1 + sim.Time(rng.Int64N(1e10)),
		perToken:   sim.Time(rng.Int64N(1e8)),
		perContext: sim.Time(rng.Int64N(3)) * 50_000,
	}
	c := sim.Config{Router: p.Router(), SampleEvery: sim.Time(rng.Int64N(2)) * 7e9,
		Retry: sim.Retry{Attempts: rng.IntN(3)}}
	stages, lookahead, host := 1+rng.IntN(2), rng.IntN(2), int64(rng.IntN(2)*100)
	for i := range 1 + rng.IntN(3) {
		m := p.Memory()
		r.memories = append(r.memories, m)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{
			Scheduler: watchScheduler(p.Scheduler(), r, i), Memory: watchMemory(m, r, i),
			Clock: kind, Stages: stages, Lookahead: lookahead,
			Host: sim.HostMemory{Tokens: host, Time: sim.Footprint[sim.Time]{Token: 1e6}},
		})
	}
	requests := sim.List(drawRequests(rng))
	r.requests = len(requests)
	c.Source = &requests
	if rng.IntN(3) == 0 {
		c.QueueTimeout = 1e11
	}
	for range rng.IntN(3) {
		at := sim.Time(rng.Int64N(1e12))
		c.Outages = append(c.Outages, sim.Outage{Replica: rng.IntN(len(c.Replicas)), At: at,
			For: sim.Time(rng.Int64N(1e11))})
	}
	return c
}

func drawRequests(rng *rand.Rand) []sim.Request {
	gap := []int64{1, 1e9, 1e11}[rng.IntN(3)]
	impatient := rng.IntN(2) == 0
	list := make([]sim.Request, 1+rng.IntN(40))
	at := sim.Time(0)
	for i := range list {
		at += sim.Time(rng.Int64N(gap + 1))
		q := sim.Request{
			Arrival: at, Prompt: 1 + rng.IntN(100), Output: 1 + rng.IntN(80),
			Tenant: rng.IntN(3), Priority: rng.IntN(3) - 1, Session: int64(rng.IntN(4)),
			Adapter: i % 4,
		}
		if rng.IntN(2) == 0 {
			q.Deadline = at + sim.Time(rng.Int64N(1e13))
		}
		if impatient && rng.IntN(3) == 0 {
			q.Patience = 1 + sim.Time(rng.Int64N(1e12))
		}
		if rng.IntN(2) == 0 { // it shares a beginning with others
			q.Content = []sim.Segment{{ID: uint64(1 + rng.IntN(3)), Tokens: 1 + rng.IntN(q.Prompt)}}
			q.Answer = uint64(rng.IntN(4))
		}
		list[i] = q
	}
	return list
}

// clock is a step time with a cost a step, a token and a context token.
type clock struct{ base, perToken, perContext sim.Time }

func (c clock) Duration(s *sim.Step) sim.Time {
	d := c.base + c.perToken*sim.Time(s.Tokens()) + c.perContext*sim.Time(s.Context)
	for i := range s.Prefill {
		d += c.perContext * sim.Time(s.Prefill[i].Cached+s.Prefill[i].New)
	}
	return d
}

func (c clock) Decode(n int, _ int64) sim.Affine {
	return sim.Affine{Base: c.base + c.perToken*sim.Time(n), PerToken: c.perContext,
		Through: int64(sim.Never)}
}
