package batching

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// pairs drafts a token for each sequence in each step, and all of them are accepted.
type pairs struct{}

func (pairs) Plan(*sim.Batch)                                {}
func (pairs) Draft(*sim.Sequence) int                        { return 1 }
func (pairs) Duration(_ *sim.Step, verify sim.Time) sim.Time { return verify }
func (pairs) Accept(*sim.Sequence, int) int                  { return 1 }

// second is the length of each step.
type second struct{}

func (second) Duration(*sim.Step) sim.Time { return sim.Second }

// VTC charges a tenant once for each token of its answers. Tokens that were drafted count like
// others, and a preemption changes nothing.
func TestVTCChargesEachToken(t *testing.T) {
	for _, spec := range []sim.Speculator{nil, pairs{}} {
		v, err := NewVTC(Limits{MaxSequences: 4, TokenBudget: 100}, 1, 2)
		testkit.OK(t, err)
		m, err := memory.NewPaged(10, 4)
		testkit.OK(t, err)
		source := sim.List{{Prompt: 5, Output: 30}, {Prompt: 3, Output: 21, Tenant: 1}}
		r, err := sim.Run(context.Background(), sim.Config{Source: &source,
			Router: &routing.RoundRobin{}, Replicas: []sim.ReplicaConfig{{Scheduler: v, Memory: m,
				Clock: second{}, Speculator: spec}}})
		testkit.OK(t, err)
		if r.Replicas[0].Preemptions == 0 {
			t.Error("nothing was preempted")
		}
		for i, want := range []int64{30, 21} {
			if got := v.tenants.list[i].output; got != want {
				t.Errorf("%T: tenant %d is charged with %d tokens, want %d", spec, i, got, want)
			}
		}
	}
}
