package scaling

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// A pool keeps the largest size that was wanted within the time for which replicas stay.
func TestHoldIsTheLargestOfTheTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := hold{keep: sim.Time(rapid.IntRange(0, 6).Draw(t, "keep"))}
		var past []wanted
		now := sim.Time(0)
		for range rapid.IntRange(1, 30).Draw(t, "sizes") {
			now += sim.Time(rapid.IntRange(0, 3).Draw(t, "gap"))
			size := rapid.IntRange(0, 5).Draw(t, "size")
			past = append(past, wanted{now, size})
			want := 0
			for _, w := range past {
				if w.at >= now-h.keep {
					want = max(want, w.replicas)
				}
			}
			if got := h.most(now, size); got != want {
				t.Fatalf("%d replicas of %v at %d, want %d", got, past, now, want)
			}
		}
	})
}

// With full weights the forecast is the straight line through the last two rates; with less, a
// constant rate is forecast as it is, and one that grows evenly in the end as well.
func TestForecastOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := NewForecast(1, 10*sim.Second, 0, rapid.Float64Range(0.2, 1).Draw(t, "level"),
			rapid.Float64Range(0.2, 1).Draw(t, "trend"))
		if err != nil {
			t.Fatal(err)
		}
		slope := rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "slope")
		span := rapid.Float64Range(0.5, 2).Draw(t, "span")
		seen := 300
		if slope == 0 || f.level == 1 && f.trend == 1 {
			seen = 2
		}
		rate := 5.0
		for range seen {
			rate += slope * span
			f.observe(rate*span, span)
		}
		if math.Abs(f.rate/rate-1) > 1e-6 || math.Abs(f.slope-slope) > 1e-6 {
			t.Fatalf("%g/s growing by %g, want %g and %g", f.rate, f.slope, rate, slope)
		}
	})
}
