package batching_test

import (
	"context"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/sim/simtest"
)

// slots returns memory with slots for adapters beside it.
func slots(t *testing.T, blocks int64, n int) sim.Memory {
	inner, err := memory.NewPrefixCache(blocks, 4)
	testkit.OK(t, err)
	m, err := memory.NewAdapters(inner, n, sim.Millisecond)
	testkit.OK(t, err)
	return m
}

// Leaping equals stepping where requests pass others whose adapters get no slot.
func TestPassingKeepsTheContract(t *testing.T) {
	for _, policy := range []string{"vllm-v1", "vllm-v0", "sarathi", "trtllm", "sjf"} {
		numbers := []int{1, 2, 3}
		if testing.Short() {
			numbers = testkit.DrawCases(t, 1, numbers)
		}
		for _, n := range numbers {
			simtest.Check(t, simtest.Policies{
				Scheduler: func() sim.Scheduler { return build(t, policy, 4, nil) },
				Memory:    func() sim.Memory { return slots(t, 100, n) },
			})
		}
	}
}

// order notes the order in which requests finish.
type order struct {
	sojourns
	ids []int64
}

func (o *order) Finished(s *sim.Sequence) { o.ids = append(o.ids, s.ID) }

// A request whose adapter has a slot does not wait behind one whose adapter can get none, and an
// arrival that may pass cuts the leap. Without slots that are short, nobody passes.
func TestRequestsPassThoseWithoutSlot(t *testing.T) {
	for n, want := range map[int][]int64{1: {2, 3, 0, 1}, 2: {1, 2, 3, 0}} {
		for _, maxLeap := range []int64{0, 1} {
			jobs := sim.List{
				{Prompt: 4, Output: 100, Adapter: 1},
				{Arrival: step, Prompt: 4, Output: 10, Adapter: 2},
				{Arrival: 2 * step, Prompt: 4, Output: 20, Adapter: 1},
				{Arrival: 50 * step, Prompt: 4, Output: 20},
			}
			o := &order{}
			if _, err := sim.Run(context.Background(), sim.Config{
				Source: &jobs, Router: &routing.RoundRobin{}, Observer: o, MaxLeap: maxLeap,
				Replicas: []sim.ReplicaConfig{{Scheduler: build(t, "vllm-v1", 8, nil),
					Memory: slots(t, 1000, n), Clock: server{step: step}}},
			}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(o.ids, want) {
				t.Errorf("%d slots, leaps of %d: requests finish in the order %v, want %v", n,
					maxLeap, o.ids, want)
			}
		}
	}
}
