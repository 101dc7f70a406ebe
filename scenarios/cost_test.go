package scenarios_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// What a request costs stays within a bound for each kind of load: allocations, and bytes of them,
// in a run beyond those of a run with fewer requests. Counts of this kind do not depend on how
// fast or busy the machine is. Each bound is a tenth above what was counted, or more where that
// is almost nothing.
func TestRequestsCostNoMoreThanBefore(t *testing.T) {
	const common = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {prompt: {distribution: " +
		"normal, mean: 500, std: 200, min: 2, max: 2000}, output: {distribution: normal, " +
		"mean: 250, std: 100, min: 2, max: 1000}, %s, requests: %d}\n%s"
	for _, c := range []struct {
		name, arrivals, rest string
		allocations, bytes   float64 // a request
	}{
		{"base", "rate: 20/s", "", 0.02, 16},
		{"speculation", "rate: 20/s",
			"speculation: {method: mtp, tokens: 1, acceptance: {rate: 0.85}}", 0.02, 24},
		{"mlfq overloaded", "rate: 60/s", "batching: mlfq", 1.1, 1710},
		{"64 replicas", "rate: 1280/s", "replicas: 64", 0.03, 40},
		{"at once", "arrivals: at-once", "", 1.1, 520},
	} {
		run := func(requests int) (allocations, bytes float64) {
			text := fmt.Sprintf(common, c.arrivals, requests, c.rest)
			f, err := scenarios.Parse("cost.yaml", []byte(text))
			if err != nil {
				t.Fatal(c.name, err)
			}
			s, err := f.Build(policies.Default())
			if err != nil {
				t.Fatal(c.name, err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := s.Run(context.Background()); err != nil {
				t.Fatal(c.name, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.Mallocs - before.Mallocs),
				float64(after.TotalAlloc - before.TotalAlloc)
		}
		const few, many = 10_000, 30_000
		run(few) // fills what all runs share
		a, b := run(few)
		moreA, moreB := run(many)
		a, b = (moreA-a)/(many-few), (moreB-b)/(many-few)
		t.Logf("%s: %.3f allocations and %.1f bytes a request", c.name, a, b)
		if a > c.allocations || b > c.bytes {
			t.Errorf("%s: %.3f allocations and %.1f bytes a request, allowed: %v and %v", c.name,
				a, b, c.allocations, c.bytes)
		}
	}
}
