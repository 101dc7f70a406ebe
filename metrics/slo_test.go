package metrics

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// A limit of a percentile is kept exactly where sorting all requests, those without an answer last,
// says so, also where it is the percentile itself.
func TestPercentileLimitsAreThoseOfSortedRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Int64Range(2, 1000), 1, 60).Draw(t, "TTFT in ms")
		rejected := rapid.IntRange(0, 5).Draw(t, "rejected")
		percentile := rapid.SampledFrom([]float64{50, 90, 95, 99}).Draw(t, "percentile")
		most := rapid.OneOf(rapid.SampledFrom(spans), rapid.Int64Range(1, 1000)).Draw(t,
			"limit in ms")
		limit := PercentileLimit{TTFT, percentile, sim.Time(most) * sim.Millisecond}
		slo := SLO{TTFT: limit.Most, Share: percentile / 100,
			Percentiles: []PercentileLimit{limit}}
		c, err := New(Config{SLO: slo})
		testkit.OK(t, err)
		within := 0
		for _, ms := range spans {
			c.Finished(finished(0, 0, 0, float64(ms-1), float64(ms+10), 10, 5)) // 1 ms of latency
			if ms <= most {
				within++
			}
		}
		for range rejected {
			c.Rejected(&sim.Request{}, sim.TooLong)
		}
		slices.Sort(spans)
		for range rejected {
			spans = append(spans, 1e9)
		}
		rank := percentile / 100 * float64(len(spans)-1)
		below, above := spans[int(rank)], spans[min(int(rank)+1, len(spans)-1)]
		exact := float64(below) + (rank-float64(int(rank)))*float64(above-below)
		s := c.Summary(&sim.Result{Replicas: make([]sim.ReplicaResult, 1)})
		joint, single := s.Limits[0], s.Limits[1]
		share := float64(within) / float64(len(spans))
		if joint.Within != share || math.Abs(single.Within-share) > 1e-12 ||
			s.Attainment.TTFT != share {
			t.Fatalf("shares of %g, %g and %g keep the limit, want %g", joint.Within,
				single.Within, s.Attainment.TTFT, share)
		}
		if joint.Met != (share >= slo.Share) {
			t.Fatalf("%g of the requests keep the limit, %g must, met: %v", share, slo.Share,
				joint.Met)
		}
		if near := exact / float64(most); near != 1 && near > 1-1e-9 && near < 1+1e-9 {
			return // within the rounding of an interpolation
		}
		if single.Met != (exact <= float64(most)) {
			t.Fatalf("met: %v, and p%g is %g ms of %d", single.Met, percentile, exact, most)
		}
		if s.SLOMet != (joint.Met && single.Met) {
			t.Fatalf("the SLO is met: %v, its limits: %v and %v", s.SLOMet, joint.Met, single.Met)
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
		testkit.OK(t, err)
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
