package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// Requests that wait in a backlog run as if all waited in the scheduler, also when one comes that
// may leave early.
func TestBacklogsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		closer := sim.Time(rapid.SampledFrom([]int64{1, 1e4, 1e15}).Draw(t, "closer"))
		for i := range c.requests {
			c.requests[i].Arrival /= closer
		}
		for _, r := range c.requests { // as many come together
			r.Arrival = c.requests[len(c.requests)-1].Arrival
			c.requests = append(c.requests, r)
		}
		if i := rapid.IntRange(0, 2*len(c.requests)).Draw(t, "patient"); i < len(c.requests) {
			c.requests[i].Patience = sim.Second
		}
		run := func(hidden bool) (sim.Result, *journal) {
			c.make = func() (sim.Scheduler, error) {
				s, err := batching.NewVLLMV1(c.maxSequences, c.budget, c.chunk)
				if hidden {
					return struct {
						sim.Scheduler
						sim.Withdrawer
					}{s, s}, err
				}
				return s, err
			}
			return c.run(t, 0)
		}
		result, journals := run(false)
		want, all := run(true)
		if d := cmp.Diff(want, result); d != "" {
			t.Fatalf("result, without backlogs (-) and with (+):\n%s", d)
		}
		if d := cmp.Diff(all, journals, cmp.AllowUnexported(journal{}),
			cmp.Comparer(func(a, b []sim.Memory) bool { return true })); d != "" {
			t.Fatalf("journal, without backlogs (-) and with (+):\n%s", d)
		}
	})
}
