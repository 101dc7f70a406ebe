package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/internal/testkit"
)

func oracles(t testing.TB) (target, draft testkit.Oracle) {
	return testkit.LoadOracle(t, fixture("tiny")), testkit.LoadOracle(t, fixture("tiny-draft"))
}

func distribution(t testing.TB, p SamplingParams, logits []float32) []float64 {
	s, err := NewSampler(p)
	testkit.OK(t, err)
	d := make([]float64, len(logits))
	testkit.OK(t, s.Distribution(d, logits))
	return d
}

// acceptance returns the probability that a token drawn from q is accepted for p, Σ min(p, q)
// (Leviathan et al., theorem 3.5).
func acceptance(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += min(p[i], q[i])
	}
	return sum
}

// TestAcceptanceAndResidual compares with the oracle's figures for its first prompt.
func TestAcceptanceAndResidual(t *testing.T) {
	target, draft := oracles(t)
	logitsP, logitsQ := target.Prompts[0].LastLogits, draft.Prompts[0].LastLogits
	one, sharp := SamplingParams{Temperature: 1}, SamplingParams{Temperature: 0.7}
	for params, want := range map[SamplingParams]float64{one: target.Prompts[0].AcceptT1,
		sharp: target.Prompts[0].AcceptT07} {
		if got := acceptance(distribution(t, params, logitsP),
			distribution(t, params, logitsQ)); math.Abs(got-want) > 1e-6 {
			t.Errorf("%+v: acceptance %v, want %v", params, got, want)
		}
	}
	p := distribution(t, one, logitsP)
	residual(p, distribution(t, one, logitsQ), 0)
	for i, want := range target.Prompts[0].ResidualT1 {
		if math.Abs(p[i]-want) > 1e-6 {
			t.Errorf("residual of token %d is %v, want %v", i, p[i], want)
		}
	}
}

// chiSquare fails unless counts may come from the distribution p: Pearson's test at the level 1e-6,
// rare tokens taken together.
func chiSquare(t *testing.T, what string, counts []int, p []float64) {
	t.Helper()
	n := 0
	for _, c := range counts {
		n += c
	}
	statistic, cells, rareCount, rareMass := 0.0, 0, 0, 0.0
	for i, c := range counts {
		switch expected := float64(n) * p[i]; {
		case expected == 0 && c > 0:
			t.Errorf("%s: token %d was drawn but has probability 0", what, i)
		case expected >= 5:
			statistic += (float64(c) - expected) * (float64(c) - expected) / expected
			cells++
		default:
			rareCount += c
			rareMass += p[i]
		}
	}
	if expected := float64(n) * rareMass; expected >= 5 {
		statistic += (float64(rareCount) - expected) * (float64(rareCount) - expected) / expected
		cells++
	}
	if limit := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(1 - 1e-6); statistic > limit {
		t.Errorf("%s: χ² = %.1f over %d cells, limit %.1f", what, statistic, cells, limit)
	}
}

// TestLawOfTheNextToken draws from the draft's distribution and verifies, 200,000 times for each
// algorithm and kind of sampling: the tokens must follow the target's law, and as many must be
// accepted as theory says.
func TestLawOfTheNextToken(t *testing.T) {
	const samples = 200_000
	target, draft := oracles(t)
	for _, algorithm := range []Algorithm{Leviathan, Chen} {
		for _, params := range []SamplingParams{{Temperature: 1}, {Temperature: 0.7, TopK: 20}} {
			p := distribution(t, params, target.Prompts[0].LastLogits)
			q := distribution(t, params, draft.Prompts[0].LastLogits)
			rng := rand.New(rand.NewPCG(42, uint64(algorithm)))
			counts, accepted := make([]int, len(p)), 0
			after := make([]float64, len(p))
			after[0] = 1
			scratch := [][]float64{make([]float64, len(p)), after}
			for range samples {
				copy(scratch[0], p)
				drafted := []int32{Draw(q, rng.Float64())}
				n, next := algorithm.Verify(scratch, [][]float64{q}, drafted, rng)
				accepted += n
				if n == 1 {
					next = drafted[0]
				}
				counts[next]++
			}
			what := fmt.Sprintf("%v %+v", algorithm, params)
			chiSquare(t, what, counts, p)
			alpha := acceptance(p, q)
			if sigma := math.Sqrt(samples * alpha * (1 - alpha)); math.Abs(
				float64(accepted)-samples*alpha) > 5*sigma {
				t.Errorf("%s: %d of %d accepted, want %.0f ± %.0f", what, accepted, samples,
					samples*alpha, sigma)
			}
		}
	}
}

// TestLawOfATriple checks the joint law of three tokens from a Markov chain, drafted two at a time
// from another, so that acceptance of the first token and choice of the second must not be
// entangled.
func TestLawOfATriple(t *testing.T) {
	const vocab, samples = 3, 200_000
	p := [vocab][]float64{{0.2, 0.5, 0.3}, {0.6, 0.1, 0.3}, {0.25, 0.25, 0.5}}
	q := [vocab][]float64{{0.5, 0.5, 0}, {0.1, 0.6, 0.3}, {1. / 3, 1. / 3, 1. / 3}}
	var law []float64
	for i := range vocab * vocab * vocab {
		a, b, c := i/9, i/3%3, i%3
		law = append(law, p[0][a]*p[a][b]*p[b][c])
	}
	for _, algorithm := range []Algorithm{Leviathan, Chen} {
		rng := rand.New(rand.NewPCG(7, uint64(algorithm)))
		counts := make([]int, len(law))
		for range samples {
			text := []int32{0}
			for len(text) < 4 {
				var drafted []int32
				target, draft := [][]float64{slices.Clone(p[text[len(text)-1]])}, [][]float64(nil)
				for last := text[len(text)-1]; len(drafted) < 2; last = drafted[len(drafted)-1] {
					drafted = append(drafted, Draw(q[last], rng.Float64()))
					draft = append(draft, q[last])
					target = append(target, slices.Clone(p[drafted[len(drafted)-1]]))
				}
				n, next := algorithm.Verify(target, draft, drafted, rng)
				text = append(append(text, drafted[:n]...), next)
			}
			counts[text[1]*9+text[2]*3+text[3]]++
		}
		chiSquare(t, algorithm.String(), counts, law)
	}
}

// TestCertainProposer checks the law where the proposer names one token with certainty, as n-gram
// look-up does.
func TestCertainProposer(t *testing.T) {
	p := []float64{0.1, 0.2, 0.3, 0.4}
	for _, algorithm := range []Algorithm{Leviathan, Chen} {
		rng := rand.New(rand.NewPCG(9, uint64(algorithm)))
		counts := make([]int, len(p))
		for range 200_000 {
			n, next := algorithm.Verify([][]float64{slices.Clone(p), {0, 0, 0, 1}},
				[][]float64{nil}, []int32{1}, rng)
			if n == 1 {
				next = 1
			}
			counts[next]++
		}
		chiSquare(t, algorithm.String(), counts, p)
	}
}
