package metrics

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// A limit of a percentile is kept exactly where sorting all requests, those without an answer last,
// says so, whatever the other limits are.
func TestPercentileLimitsAreThoseOfSortedRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1, 1000), 1, 60).Draw(t, "TTFT in ms")
		rejected := rapid.IntRange(0, 5).Draw(t, "rejected")
		percentile := rapid.SampledFrom([]float64{50, 90, 95, 99}).Draw(t, "percentile")
		most := rapid.Float64Range(1, 1000).Draw(t, "limit in ms")
		limit := PercentileLimit{TTFT, percentile, sim.Seconds(most / 1000)}
		c, err := New(Config{SLO: SLO{Percentiles: []PercentileLimit{limit}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, ms := range values {
			c.Finished(finished(0, 0, 0, ms-1, ms+10, 10, 5)) // with 1 ms of latency
		}
		for range rejected {
			c.Rejected(&sim.Request{}, sim.TooLong)
		}
		slices.Sort(values)
		for range rejected {
			values = append(values, 1e9)
		}
		rank := percentile / 100 * float64(len(values)-1)
		below := values[int(rank)]
		above := values[min(int(rank)+1, len(values)-1)]
		exact := below + (rank-float64(int(rank)))*(above-below)
		s := c.Summary(&sim.Result{Replicas: make([]sim.ReplicaResult, 1)})
		if near := exact / most; near > 0.99 && near < 1.01 {
			return // within the accuracy of quantiles
		}
		if got, want := s.SLOMet, exact <= most; got != want {
			t.Fatalf("met: %v, want %v: p%g is %g ms of %g", got, want, percentile, exact, most)
		}
	})
}

// The limit of gaps is held against all gaps, and the one of which more is used binds.
func TestLimitOfGaps(t *testing.T) {
	gaps := func(ms ...float64) (s Summary) {
		c, err := New(Config{SLO: SLO{
			TTFT: sim.Second, Share: 0.99, Percentiles: []PercentileLimit{
				{ITL, 50, 20 * sim.Millisecond}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range ms {
			c.Steps(&sim.Leap{Gaps: []sim.Gap{{Span: sim.Seconds(x / 1000), Count: 1}}})
		}
		c.Finished(finished(0, 0, 0, 1, 100, 10, 5))
		return c.Summary(&sim.Result{Replicas: make([]sim.ReplicaResult, 1)})
	}
	if s := gaps(10, 10, 30); !s.SLOMet || s.Binds != "p50 ITL" {
		t.Errorf("a median gap of 10 ms: met %v, %q binds", s.SLOMet, s.Binds)
	}
	if s := gaps(10, 30, 30); s.SLOMet || s.Binds != "p50 ITL" || s.Attainment.All != 1 {
		t.Errorf("a median gap of 30 ms: met %v, %q binds", s.SLOMet, s.Binds)
	}
}
