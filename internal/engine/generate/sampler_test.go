package generate

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

func newSampler(t testkit.Test, p SamplingParams) *Sampler {
	s, err := NewSampler(p)
	testkit.OK(t, err)
	return s
}

// TestOracle compares with the distributions that PyTorch computed from the same logits.
func TestOracle(t *testing.T) {
	for _, name := range []string{"tiny", "tiny-draft"} {
		p := testkit.LoadOracle(t, filepath.Join("..", "testdata", name)).Prompts[0]
		for params, want := range map[SamplingParams][]float64{
			{Temperature: 1}:              p.T1,
			{Temperature: 0.7, TopK: 20}:  p.T07Top,
			{Temperature: 1, TopK: 10000}: p.T1,
		} {
			got := make([]float64, len(want))
			testkit.OK(t, newSampler(t, params).Distribution(got, p.LastLogits))
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-6 {
					t.Errorf("%s %+v: probability of token %d is %v, want %v", name, params, i,
						got[i], want[i])
				}
			}
		}
	}
}

// TestDistribution compares with the definition, computed by sorting.
func TestDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float32 {
			// coarse, so that there are ties
			return float32(rapid.IntRange(-8, 8).Draw(t, "quarter")) / 4
		}), 1, 40).Draw(t, "logits")
		p := SamplingParams{
			Temperature: rapid.Float64Range(0.1, 3).Draw(t, "temperature"),
			TopK:        rapid.IntRange(0, 45).Draw(t, "top-k"),
			TopP:        rapid.Float64Range(0, 1).Draw(t, "top-p"),
		}
		got := make([]float64, len(logits))
		s := newSampler(t, p)
		for range 2 { // the second time with used scratch space
			testkit.OK(t, s.Distribution(got, logits))
		}
		want := bySorting(p, logits)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Fatalf("probability of token %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}

func bySorting(p SamplingParams, logits []float32) []float64 {
	order := make([]int, len(logits))
	weights, all := make([]float64, len(logits)), 0.0
	for i, l := range logits {
		order[i] = i
		weights[i] = math.Exp(float64(l) / p.Temperature)
		all += weights[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	if k := p.TopK; k > 0 && k < len(order) {
		n := k
		for n < len(order) && weights[order[n]] == weights[order[k-1]] {
			n++
		}
		order, all = order[:n], 0
		for _, i := range order {
			all += weights[i]
		}
	}
	if p.TopP > 0 && p.TopP < 1 {
		total, n := 0.0, 0
		for n < len(order) && total < p.TopP*all*(1-1e-12) {
			total += weights[order[n]]
			n++
		}
		order, all = order[:n], total
	}
	want := make([]float64, len(logits))
	for _, i := range order {
		want[i] = weights[i] / all
	}
	return want
}

func TestGreedyTakesTheFirstOfTheLargest(t *testing.T) {
	got := make([]float64, 4)
	testkit.OK(t, newSampler(t, SamplingParams{}).Distribution(got, []float32{1, 3, 3, 2}))
	if !slices.Equal(got, []float64{0, 1, 0, 0}) {
		t.Errorf("distribution %v", got)
	}
}

func TestBadInputIsAnError(t *testing.T) {
	for _, p := range []SamplingParams{{Temperature: -1}, {Temperature: math.NaN()},
		{Temperature: math.Inf(1)}, {TopK: -1}, {TopP: 1.1}, {TopP: math.NaN()}} {
		if _, err := NewSampler(p); err == nil {
			t.Errorf("no error for %+v", p)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		err := newSampler(t, SamplingParams{Temperature: 1}).Distribution(make([]float64, 2),
			[]float32{0, float32(bad)})
		if !errors.Is(err, ErrNotFinite) {
			t.Errorf("error %v for a logit of %v", err, bad)
		}
	}
}

// TestDraw checks the frequencies of drawn tokens.
func TestDraw(t *testing.T) {
	p := []float64{0, 0.5, 0, 0.2, 0.3, 0}
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 100_000
	counts := make([]float64, len(p))
	for range n {
		counts[Draw(p, rng.Float64())]++
	}
	for i := range p {
		if sigma := math.Sqrt(n * p[i] * (1 - p[i])); math.Abs(counts[i]-n*p[i]) > 4*sigma {
			t.Errorf("token %d was drawn %v times of %d, want %v ± %v", i, counts[i], n, n*p[i],
				sigma)
		}
	}
	if got := Draw(p, 1-1e-17); got != 4 {
		t.Errorf("the end of the range gives token %d, want the last possible, 4", got)
	}
}

func TestDistributionDoesNotAllocate(t *testing.T) {
	logits, p := make([]float32, 300), make([]float64, 300)
	for i := range logits {
		logits[i] = float32(i % 17)
	}
	s := newSampler(t, SamplingParams{Temperature: 0.7, TopK: 20, TopP: 0.9})
	if n := testing.AllocsPerRun(10, func() { _ = s.Distribution(p, logits) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
