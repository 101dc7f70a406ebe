package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// naive is the rule as it is written down, for WarmUp to agree with.
func naive(means []float64) int {
	best, at := math.Inf(1), -1
	for d := len(means) - mserBatch; d >= 0; d-- {
		rest := means[d:]
		n, mean, squares := float64(len(rest)), 0.0, 0.0
		for _, y := range rest {
			mean += y
		}
		mean /= n // exactly y, where all are y
		for _, y := range rest {
			squares += (y - mean) * (y - mean)
		}
		if e := squares / (n * n); e <= best*(1+1e-9) {
			best, at = e, d
		}
	}
	return at
}

func TestWarmUpIsTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rapid.SliceOfN(rapid.Float64Range(0, 100), 25, 400).Draw(t, "series")
		drop, settled := WarmUp(series)
		means := batches(series, mserBatch)
		at := naive(means)
		if settled != (2*at <= len(means)) || settled && drop != at*mserBatch {
			t.Fatalf("drops %d (settled %v), the minimum is at batch %d of %d", drop, settled, at,
				len(means))
		}
	})
}

// The interval covers the true mean as often as it says, for independent observations.
func TestIntervalsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const trials = 4000
	covered := 0
	for range trials {
		var x [5]float64
		for i := range x {
			x[i] = 7 + 2*rng.NormFloat64()
		}
		if !Mean(x[:], 0.9).Excludes(7) {
			covered++
		}
	}
	if share := float64(covered) / trials; math.Abs(share-0.9) > 0.015 { // three standard errors
		t.Errorf("the interval at 90%% covers the mean in %.1f%% of the trials", 100*share)
	}
}

// Student's t for 9 degrees of freedom at 95 % is 2.262 (any table).
func TestStudentsT(t *testing.T) {
	got := Mean([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.95)
	want := 2.262157 * math.Sqrt(55.0/6) / math.Sqrt(10)
	if math.Abs(got.Half-want) > 1e-5 || got.Mean != 4.5 {
		t.Errorf("got %+v, want 4.5 ± %g", got, want)
	}
}
