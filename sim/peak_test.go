package sim_test

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// Of two requests, one runs at a time in steps of 10 ms. The second runs from 100 to 130 ms, stores
// 22 tokens, waits, and leaves at 298 ms, in the middle of a leap of the first. The step from 290
// ms on stores token 36 of the first. At its end the first holds 47, which is less than both held.
func TestPeakCountsWhatLeavesInTheMiddleOfALeap(t *testing.T) {
	const step = 10 * sim.Millisecond
	for _, most := range []int64{0, 1, 7} {
		mlfq, err := batching.NewMLFQ(batching.MLFQConfig{MaxSequences: 1, Levels: 2,
			Quantum: 25 * sim.Millisecond, PrefillRate: 1e6})
		testkit.OK(t, err)
		tokens, err := memory.NewPaged(100, 1)
		testkit.OK(t, err)
		r, err := sim.Run(context.Background(), sim.Config{
			Router: &routing.RoundRobin{}, MaxLeap: most,
			Source: &listSource{requests: []sim.Request{{Prompt: 10, Output: 38},
				{ID: 1, Arrival: 95 * sim.Millisecond, Prompt: 20, Output: 38,
					Patience: 203 * sim.Millisecond}}},
			Replicas: []sim.ReplicaConfig{
				{Scheduler: mlfq, Memory: tokens, Clock: affineClock{base: step}}},
		})
		if peak := r.Replicas[0].KVPeak; err != nil || r.Cancelled != 1 || peak != 36+22 {
			t.Errorf("leaps of %d: %d tokens at most, want %d; %d cancelled (%v)", most, peak,
				36+22, r.Cancelled, err)
		}
	}
}
