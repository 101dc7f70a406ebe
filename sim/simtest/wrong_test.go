package simtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/sim/simtest"
)

// complaints is a test that is expected to fail.
type complaints struct{ list []string }

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

// Each policy here breaks one contract, and is found out.
func TestWrongPoliciesAreCaught(t *testing.T) {
	type broken struct {
		name, want string
		scheduler  func(right sim.Scheduler) sim.Scheduler
		memory     func(right sim.Memory) sim.Memory
		router     sim.Router
	}
	for _, c := range []broken{
		{name: "ignores arrivals although there are places", want: "differ: stepping gives",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return deaf{s} }},
		{name: "goes by the clock, and says that its decision stands", want: "differ",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return fickle{s} }},
		{name: "decides for no steps", want: "decision for 0 steps",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return hasty{s} }},
		{name: "says that nobody waits", want: "sequences wait",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return uncounted{s} }},
		{name: "forgets the sequences that it preempts", want: "lost theirs",
			scheduler: func(sim.Scheduler) sim.Scheduler { return careless{&shortQueue{}} }},
		{name: "forgets a sequence that arrives", want: "Enqueue",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return deafened{s} }},
		{name: "keeps a sequence that was withdrawn", want: "Withdraw",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return clinging{s} }},
		{name: "cannot give back a sequence that waits", want: "cannot give back",
			scheduler: func(sim.Scheduler) sim.Scheduler { return &closed{} }},
		{name: "never starts some requests", want: "rests although",
			scheduler: func(s sim.Scheduler) sim.Scheduler { return &starving{Scheduler: s} }},

		{name: "finds all of a prompt in the cache", want: "Match finds",
			memory: func(m sim.Memory) sim.Memory { return mistaken{m} }},
		{name: "takes the reserve", want: "want the reserve",
			memory: func(m sim.Memory) sim.Memory { return reckless{m} }},
		{name: "takes what it refuses", want: "Extend refuses",
			memory: func(m sim.Memory) sim.Memory { return &grabbing{Memory: m} }},
		{name: "has headroom for a step more than there is room", want: "Headroom is",
			memory: func(m sim.Memory) sim.Memory { return greedy{m} }},
		{name: "has headroom for more steps than asked", want: "Headroom is",
			memory: func(m sim.Memory) sim.Memory { return generous{m} }},
		{name: "advances by more than the growth", want: "Advance by",
			memory: func(m sim.Memory) sim.Memory { return &drifting{Memory: m} }},
		{name: "keeps what preempted sequences had", want: "rests although",
			memory: func(m sim.Memory) sim.Memory { return leaking{m} }},
		{name: "takes units when some are released", want: "Release of",
			memory: func(m sim.Memory) sim.Memory { return &backward{Memory: m} }},
		{name: "keeps what finished sequences had", want: "still has",
			memory: func(m sim.Memory) sim.Memory { return keeping{m} }},
		{name: "uses more than it has", want: "units are in use",
			memory: func(m sim.Memory) sim.Memory { return swollen{m} }},
		{name: "says that everything fits", want: "rests although",
			memory: func(sim.Memory) sim.Memory { return bottomless{paged(20)} }},

		{name: "sends requests to no replica", want: "the router sent", router: always(-1)},
		{name: "sends requests to a replica that failed", want: "does not take it",
			router: always(0)},
	} {
		p := simtest.Policies{}
		if c.scheduler != nil {
			p.Scheduler = func() sim.Scheduler { return c.scheduler(vllm()) }
			p.Memory = func() sim.Memory { return paged(64) }
		}
		if c.memory != nil {
			p.Memory = func() sim.Memory { return c.memory(paged(64)) }
		}
		if c.router != nil {
			p.Router = func() sim.Router { return c.router }
		}
		found := &complaints{}
		simtest.Check(found, p)
		if len(found.list) == 0 || !strings.Contains(strings.Join(found.list, "\n"), c.want) {
			t.Errorf("a policy that %s: want a complaint that has %q, got %q", c.name, c.want,
				found.list)
		}
	}
}

func vllm() sim.Scheduler {
	s, err := batching.NewVLLMV1(8, 64, 0)
	if err != nil {
		panic(err)
	}
	return s
}

func paged(blocks int64) sim.Memory {
	m, err := memory.NewPaged(blocks, 4)
	if err != nil {
		panic(err)
	}
	return m
}

type deaf struct{ sim.Scheduler }

func (d deaf) Schedule(b *sim.Batch) sim.Decision {
	decision := d.Scheduler.Schedule(b)
	decision.IgnoreArrivals = true
	return decision
}

type fickle struct{ sim.Scheduler }

func (f fickle) Schedule(b *sim.Batch) sim.Decision {
	if b.Running() > 0 && b.Now()/(20*sim.Millisecond)%2 == 1 {
		if b.Decode() && len(b.Prefilling()) == 0 {
			return sim.Decision{Steps: sim.Forever}
		}
	}
	return f.Scheduler.Schedule(b)
}

type uncounted struct{ sim.Scheduler }

func (uncounted) Waiting() int { return 0 }

type hasty struct{ sim.Scheduler }

func (h hasty) Schedule(b *sim.Batch) sim.Decision {
	h.Scheduler.Schedule(b)
	return sim.Decision{}
}

type deafened struct{ sim.Scheduler }

func (d deafened) Enqueue(s *sim.Sequence) {
	if s.ID != 3 {
		d.Scheduler.Enqueue(s)
	}
}

type clinging struct{ sim.Scheduler }

func (clinging) Withdraw(*sim.Sequence) {}

type starving struct {
	sim.Scheduler
	left int
}

func (s *starving) Enqueue(q *sim.Sequence) {
	if q.ID%4 == 3 {
		s.left++
		return
	}
	s.Scheduler.Enqueue(q)
}

func (s *starving) Waiting() int { return s.Scheduler.Waiting() + s.left }

func (s *starving) Withdraw(q *sim.Sequence) {
	if q.ID%4 == 3 {
		s.left--
		return
	}
	s.Scheduler.(sim.Withdrawer).Withdraw(q)
}

// shortQueue starts whole prompts in order, few at once.
type shortQueue struct{ sim.Queue }

func (q *shortQueue) Enqueue(s *sim.Sequence) { q.Push(s) }
func (q *shortQueue) Waiting() int            { return q.Len() }

func (q *shortQueue) Schedule(b *sim.Batch) sim.Decision {
	for s := q.Front(); s != nil && b.Running() < 8 && b.Prefill(s, 1000) > 0; s = q.Front() {
		q.Remove(s)
	}
	return sim.Decision{Steps: 1}
}

type careless struct{ *shortQueue }

func (c careless) Schedule(b *sim.Batch) sim.Decision {
	for !b.Decode() {
		b.Preempt(b.Newest())
	}
	return c.shortQueue.Schedule(b)
}

// closed keeps its queue where nobody else can take a sequence out of it.
type closed struct{ queue []*sim.Sequence }

func (c *closed) Enqueue(s *sim.Sequence) { c.queue = append(c.queue, s) }
func (c *closed) Waiting() int            { return len(c.queue) }

func (c *closed) Schedule(b *sim.Batch) sim.Decision {
	for !b.Decode() {
		c.queue = append(c.queue, b.Preempt(b.Newest()))
	}
	for len(c.queue) > 0 && b.Running() < 8 && b.Prefill(c.queue[0], 1000) > 0 {
		c.queue = c.queue[1:]
	}
	return sim.Decision{Steps: 1}
}

type mistaken struct{ sim.Memory }

func (mistaken) Match(s *sim.Sequence) int { return s.Remaining() }

type reckless struct{ sim.Memory }

func (r reckless) Extend(s *sim.Sequence, n int, _ int64) bool { return r.Memory.Extend(s, n, 0) }

type grabbing struct {
	sim.Memory
	taken int64
}

func (g *grabbing) Extend(s *sim.Sequence, n int, reserve int64) bool {
	ok := g.Memory.Extend(s, n, reserve)
	if !ok && g.taken == 0 && g.Memory.Used() < g.Capacity() {
		g.taken = 1
	}
	return ok
}

func (g *grabbing) Used() int64 { return g.Memory.Used() + g.taken }

type greedy struct{ sim.Memory }

func (g greedy) Headroom(lane int, limit int64) int64 {
	if n := g.Memory.Headroom(lane, limit); n < limit {
		return n + 1
	}
	return limit
}

type generous struct{ sim.Memory }

func (g generous) Headroom(lane int, limit int64) int64 { return g.Memory.Headroom(lane, limit+1) }

type drifting struct {
	sim.Memory
	extra int64
}

func (d *drifting) Advance(lane int, steps int64) {
	d.Memory.Advance(lane, steps)
	if d.extra == 0 && d.Memory.Used() < d.Capacity() {
		d.extra = 1
	}
}

func (d *drifting) Used() int64 { return d.Memory.Used() + d.extra }

type leaking struct{ sim.Memory }

func (l leaking) Release(s *sim.Sequence, done bool) {
	if done || s.ID%2 == 0 {
		l.Memory.Release(s, done)
	}
}

type backward struct {
	sim.Memory
	extra int64
}

func (k *backward) Release(s *sim.Sequence, done bool) {
	before := k.Memory.Used()
	k.Memory.Release(s, done)
	k.extra = before - k.Memory.Used() + 1
}

func (k *backward) Used() int64 { return k.Memory.Used() + k.extra }

type keeping struct{ sim.Memory }

func (k keeping) Release(s *sim.Sequence, done bool) {
	if !done || s.ID != 0 {
		k.Memory.Release(s, done)
	}
}

type swollen struct{ sim.Memory }

func (s swollen) Used() int64 { return s.Memory.Used() + 50 }

type bottomless struct{ sim.Memory }

func (bottomless) Fits(int) bool { return true }

type always int

func (a always) Route(*sim.Request, *sim.Pool) int { return int(a) }
