package simtest_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
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
				Scheduler: func() sim.Scheduler { return build(t, p, place, small()) }})
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
		for _, q := range p.Params() {
			known = known || q.Name == name
		}
		if !known {
			delete(params, name)
		}
	}
	made, err := p.Build(place, params)
	testkit.OK(t, err)
	return made
}

// small returns parameters by which batches are small, so that requests wait.
func small() map[string]string {
	return map[string]string{
		"max-sequences": "6", "max-batch": "6", "batch-size": "4", "token-budget": "50",
		"chunk": "20", "chunk-limit": "20",
		"key": "prompt", "max-output": "80",
	}
}

// pausing takes the place of a sequence in the step in which it would have started.
type pausing struct{ shortQueue }

func (p *pausing) Schedule(b *sim.Batch) sim.Decision {
	for !b.Decode() {
		p.PushFront(b.Preempt(b.Newest()))
	}
	d := p.shortQueue.Schedule(b)
	if s := b.Newest(); b.Running() > 1 && s.Stored == 0 && s.Preemptions == 0 {
		p.PushFront(b.Pause(s))
	}
	return d
}

// A sequence that is paused before it has stored anything starts anew later.
func TestPausedBeforeItRuns(t *testing.T) {
	simtest.Check(t, simtest.Policies{Scheduler: func() sim.Scheduler { return &pausing{} }})
}
