package simtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/sim/simtest"
)

// Every policy that ships keeps its contract.
func TestOurPoliciesPass(t *testing.T) {
	place := policies.Deployment{Seed: 1, KVTokens: 512, MaxContext: 200, HostTokens: 100,
		TokenBytes: 1, HostRate: 1e5}
	r := policies.Default()
	for i := range r.Batching.Policies {
		p := &r.Batching.Policies[i]
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			simtest.Check(t, simtest.Policies{
				Scheduler: func() sim.Scheduler { return build(t, p, place, small(p.Params)) }})
		})
	}
	for i := range r.Memory.Policies {
		p := &r.Memory.Policies[i]
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			simtest.Check(t, simtest.Policies{
				Memory: func() sim.Memory {
					return build(t, p, place, map[string]string{"block-size": "4", "window": "20"})
				}})
		})
	}
}

func build[T any](t *testing.T, p *policies.Policy[T], place policies.Deployment,
	params map[string]string) T {
	for name := range params {
		known := false
		for _, q := range p.Params {
			known = known || q.Name == name
		}
		if !known {
			delete(params, name)
		}
	}
	made, err := p.Build(place, params)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// small returns parameters by which batches are small, so that requests wait.
func small(params []policies.Param) map[string]string {
	return map[string]string{
		"max-sequences": "6", "max-batch": "6", "batch-size": "4", "token-budget": "50",
		"chunk": "20", "chunk-limit": "20",
		"key": "prompt", "max-output": "80",
	}
}

// complaints is a test that is expected to fail.
type complaints struct{ list []string }

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

// deaf decides for ever, whatever arrives, although there are places left.
type deaf struct{ sim.Scheduler }

func (d deaf) Schedule(b *sim.Batch) sim.Decision {
	decision := d.Scheduler.Schedule(b)
	decision.IgnoreArrivals = true
	return decision
}

// fickle lets nobody start in odd seconds, but says that its decision stands.
type fickle struct{ sim.Scheduler }

func (f fickle) Schedule(b *sim.Batch) sim.Decision {
	if b.Running() > 0 && b.Now()/(20*sim.Millisecond)%2 == 1 {
		if b.Decode() && len(b.Prefilling()) == 0 {
			return sim.Decision{Steps: sim.Forever}
		}
	}
	return f.Scheduler.Schedule(b)
}

// uncounted says that nobody waits.
type uncounted struct{ sim.Scheduler }

func (uncounted) Waiting() int { return 0 }

// careless forgets the sequences that it preempts.
type careless struct{ *shortQueue }

func (c careless) Schedule(b *sim.Batch) sim.Decision {
	for !b.Decode() {
		b.Preempt(b.Newest())
	}
	return c.shortQueue.Schedule(b)
}

// shortQueue starts whole prompts in order, few at once.
type shortQueue struct{ sim.Queue }

func (q *shortQueue) Enqueue(s *sim.Sequence) { q.Push(s) }
func (q *shortQueue) Waiting() int            { return q.Len() }

func (q *shortQueue) Schedule(b *sim.Batch) sim.Decision {
	for !b.Decode() {
		q.PushFront(b.Preempt(b.Newest()))
	}
	for s := q.Front(); s != nil && b.Running() < 8 && b.Prefill(s, 1000) > 0; s = q.Front() {
		q.Remove(s)
	}
	return sim.Decision{Steps: 1}
}

// hasty returns decisions for no steps.
type hasty struct{ sim.Scheduler }

func (h hasty) Schedule(b *sim.Batch) sim.Decision {
	h.Scheduler.Schedule(b)
	return sim.Decision{}
}

// greedy says that memory lasts for a step more than it does.
type greedy struct{ sim.Memory }

func (g greedy) Headroom(lane int, limit int64) int64 {
	if n := g.Memory.Headroom(lane, limit); n < limit {
		return n + 1
	}
	return limit
}

// leaking keeps what sequences that are preempted had.
type leaking struct{ sim.Memory }

func (l leaking) Release(s *sim.Sequence, done bool) {
	if done || s.ID%2 == 0 {
		l.Memory.Release(s, done)
	}
}

// mistaken finds all tokens of a prompt in the cache.
type mistaken struct{ sim.Memory }

func (mistaken) Match(s *sim.Sequence) int { return s.Remaining() }

// What breaks a contract is found out.
func TestWrongPoliciesAreCaught(t *testing.T) {
	v1 := func() sim.Scheduler {
		s, err := batching.NewVLLMV1(8, 64, 0)
		if err != nil {
			panic(err)
		}
		return s
	}
	paged := func() sim.Memory {
		m, err := memory.NewPaged(64, 4)
		if err != nil {
			panic(err)
		}
		return m
	}
	for want, p := range map[string]simtest.Policies{
		"lost theirs": {Scheduler: func() sim.Scheduler { return careless{&shortQueue{}} },
			Memory: paged},
		"differ: stepping gives": {Scheduler: func() sim.Scheduler { return deaf{v1()} }},
		"differ":                 {Scheduler: func() sim.Scheduler { return fickle{v1()} }},
		"sequences wait":         {Scheduler: func() sim.Scheduler { return uncounted{v1()} }},
		"decision for 0 steps":   {Scheduler: func() sim.Scheduler { return hasty{v1()} }},
		"Headroom is":            {Memory: func() sim.Memory { return greedy{paged()} }},
		"rests although":         {Memory: func() sim.Memory { return leaking{paged()} }},
		"Match finds":            {Memory: func() sim.Memory { return mistaken{paged()} }},
	} {
		found := &complaints{}
		simtest.Check(found, p)
		if len(found.list) == 0 || !strings.Contains(strings.Join(found.list, "\n"), want) {
			t.Errorf("want a complaint that has %q, got %q", want, found.list)
		}
	}
}
