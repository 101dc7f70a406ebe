package metrics

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

func newTestDistribution(t testkit.Test, accuracy float64) *Distribution {
	d, err := NewDistribution(accuracy)
	testkit.OK(t, err)
	return d
}

// Mean is exact, and quantiles and standard deviation are within the stated accuracy of those of
// the sorted spans.
func TestDistributionAccuracy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		accuracy := rapid.SampledFrom([]float64{requestAccuracy, tokenAccuracy}).Draw(t, "accuracy")
		d := newTestDistribution(t, accuracy)
		var exact []float64
		most := rapid.SampledFrom([]int{20, 600}).Draw(t, "most")
		for _, span := range rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)),
			rapid.Int64Range(1, 1e15)), 1, most).Draw(t, "spans") {
			count := rapid.Int64Range(1, 3).Draw(t, "count")
			d.AddRepeated(sim.Time(span), count)
			for range count {
				exact = append(exact, float64(span))
			}
		}
		slices.Sort(exact)
		if len(slices.Compact(slices.Clone(exact))) <= exactSpans {
			accuracy = 1e-12
		}
		near := func(what string, got, want, tolerance float64) {
			if math.Abs(got-want) > tolerance {
				t.Fatalf("%s is %g, want %g ± %g", what, got, want, tolerance)
			}
		}
		mean := stat.Mean(exact, nil)
		near("mean", d.Mean(), mean, 1e-12*mean)
		for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99, 1} {
			rank := q * float64(len(exact)-1)
			below, above := exact[int(math.Floor(rank))], exact[int(math.Ceil(rank))]
			want := below + (rank-math.Floor(rank))*(above-below)
			near("quantile", d.Quantile(q), want, 1.01*accuracy*above)
			if got := d.Quantile(q); got < exact[0] || got > exact[len(exact)-1] {
				t.Fatalf("quantile %g is %g, outside of %g to %g", q, got, exact[0],
					exact[len(exact)-1])
			}
		}
		near("standard deviation", d.Std(), math.Sqrt(stat.PopVariance(exact, nil)),
			2*accuracy*exact[len(exact)-1])
	})
}

// A leap counts the same as its steps one by one.
func TestAddStepsEqualsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := sim.Leap{
			Steps:   rapid.Int64Range(2, 500).Draw(t, "steps"),
			Decodes: rapid.IntRange(1, 300).Draw(t, "decodes"),
			Context: rapid.Int64Range(1, 1e6).Draw(t, "context"),
			Form: sim.Affine{
				Base:     sim.Time(rapid.Int64Range(1, 1e11).Draw(t, "base")),
				PerToken: sim.Time(rapid.Int64Range(0, 1e6).Draw(t, "perToken")),
			},
		}
		leaped, stepped := newTestDistribution(t, tokenAccuracy), newTestDistribution(t,
			tokenAccuracy)
		length := func(i int64) sim.Time { return l.Form.At(l.Context + i*int64(l.Decodes)) }
		for i := range l.Steps {
			l.End += length(i)
			if i > 0 {
				stepped.AddRepeated(length(i), int64(l.Decodes))
			}
		}
		leaped.AddSteps(&l)
		if leaped.Count() != stepped.Count() || leaped.Mean() != stepped.Mean() ||
			leaped.Std() != stepped.Std() {
			t.Fatalf("leap: %d spans, mean %g, std %g; steps: %d, %g, %g",
				leaped.Count(), leaped.Mean(), leaped.Std(), stepped.Count(), stepped.Mean(),
				stepped.Std())
		}
		for q := 0.0; q <= 1; q += 0.05 {
			if leaped.Quantile(q) != stepped.Quantile(q) {
				t.Fatalf("quantile %g: leap %g, steps %g", q, leaped.Quantile(q),
					stepped.Quantile(q))
			}
		}
	})
}

func TestEmptyDistribution(t *testing.T) {
	d := newTestDistribution(t, requestAccuracy)
	if d.Mean() != 0 || d.Std() != 0 || d.Quantile(0.5) != 0 {
		t.Errorf("empty: mean %g, std %g, median %g, want zeros", d.Mean(), d.Std(),
			d.Quantile(0.5))
	}
}
