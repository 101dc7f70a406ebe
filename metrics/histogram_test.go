package metrics

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// A histogram counts all but the longest hundredth, and each span in the bin that it falls into.
func TestHistogramCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := NewDistribution(requestAccuracy)
		testkit.OK(t, err)
		spans := rapid.SliceOfN(rapid.Int64Range(0, int64(sim.Second)), 1, 300).Draw(t, "spans")
		for _, s := range spans {
			d.Add(sim.Time(s))
		}
		h := d.Histogram(8)
		bins := float64(len(h.Counts))
		total := 0.0
		for i, n := range h.Counts {
			total += n
			// Spans near the edge of a bin may fall into the next: buckets are as wide as the
			// accuracy says.
			width, slack := (h.High-h.Low)/bins, 2*requestAccuracy*h.High+1e-12
			within := 0.0
			for _, s := range spans {
				x := float64(s) / float64(sim.Second)
				if x >= h.Low+float64(i)*width-slack && x <= h.Low+float64(i+1)*width+slack {
					within++
				}
			}
			if n > within {
				t.Fatalf("bin %d counts %g, but only %g spans are near", i, n, within)
			}
		}
		if least := math.Floor(0.99 * float64(len(spans))); total < least ||
			total > float64(len(spans)) {
			t.Fatalf("%g of %d spans are counted, want at least %g", total, len(spans), least)
		}
		if longest := float64(slices.Max(spans)) / float64(sim.Second); h.High > longest*(1+
			2*requestAccuracy) {
			t.Fatalf("ends at %g s, the longest span is %g s", h.High, longest)
		}
	})
}
