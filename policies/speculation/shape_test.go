package speculation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/speculation"
)

func anyAcceptance(t *rapid.T) speculation.Acceptance {
	rates := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 4).Draw(t, "rates")
	a, err := speculation.ByPosition(rates)
	testkit.OK(t, err)
	return a
}

func anyShape(t *rapid.T) speculation.Shape {
	s := speculation.Shape{
		Depth: rapid.IntRange(1, 5).Draw(t, "depth"), Width: rapid.IntRange(1, 4).Draw(t, "width"),
		Siblings: rapid.Float64Range(0, 1).Draw(t, "siblings"),
	}
	if rapid.Bool().Draw(t, "bounded") {
		s.Nodes = rapid.IntRange(s.Depth, 30).Draw(t, "nodes")
	}
	return s
}

func drafts(t testkit.Test, s speculation.Shape,
	a speculation.Acceptance) []speculation.Draft {
	list, err := s.Drafts(a)
	testkit.OK(t, err)
	return list
}

// A chain with the same chance everywhere has the law of Leviathan et al. 2023: a geometric one
// that is cut off, with the mean of equation 1.
func TestChainIsGeometric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha, gamma := rapid.Float64Range(0, 1).Draw(t, "alpha"), rapid.IntRange(1, 20).Draw(t,
			"gamma")
		a, err := speculation.Constant(alpha)
		testkit.OK(t, err)
		for length, d := range drafts(t, speculation.Shape{Depth: gamma, Width: 1}, a) {
			if want := speculation.ExpectedTokens(alpha, length); math.Abs(d.Mean()-want) > 1e-9 {
				t.Fatalf("a chain of %d gives %g tokens, want %g", length, d.Mean(), want)
			}
			for i, reach := range d.Reach[0] {
				if want := math.Pow(alpha, float64(i+1)); math.Abs(reach-want) > 1e-12 {
					t.Fatalf("%d tokens are accepted with chance %g, want %g", i+1, reach, want)
				}
			}
			if d.Tokens != length || len(d.Expanded) != length {
				t.Fatalf("a chain of %d has %d tokens in %d passes", length, d.Tokens,
					len(d.Expanded))
			}
		}
	})
}

// Whatever the shape: chances fall with depth, more depth, width, tokens and chance never give
// fewer tokens, and a step gives at most one more than its depth.
func TestLargerDraftsGiveMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, s := anyAcceptance(t), anyShape(t)
		list := drafts(t, s, a)
		for length, d := range list {
			if length > 0 && d.Mean() < list[length-1].Mean()-1e-12 {
				t.Fatalf("%d tokens in a row give %g, %d give %g", length, d.Mean(), length-1,
					list[length-1].Mean())
			}
			above := 1.0
			for _, reach := range d.Reach[0] {
				if reach > above+1e-12 {
					t.Fatalf("chances rise: %v", d.Reach[0])
				}
				above = reach
			}
			if s.Nodes > 0 && d.Tokens > s.Nodes {
				t.Fatalf("%d tokens to verify, want at most %d", d.Tokens, s.Nodes)
			}
		}
		last := list[s.Depth]
		if s.Nodes > 0 {
			more := s
			more.Nodes++
			if got := drafts(t, more, a)[s.Depth]; got.Mean() < last.Mean()-1e-12 {
				t.Fatalf("one token more gives %g instead of %g", got.Mean(), last.Mean())
			}
		}
		chain := drafts(t, speculation.Shape{Depth: s.Depth, Width: 1}, a)[s.Depth]
		if (s.Nodes == 0 || s.Width == 1) && last.Mean() < chain.Mean()-1e-12 {
			t.Fatalf("the tree gives %g, the chain in it %g", last.Mean(), chain.Mean())
		}
	})
}

// The law of a full tree is that of walking down it: at each depth one of the candidates is right,
// or none.
func TestTreeAgreesWithWalks(t *testing.T) {
	a, err := speculation.ByPosition([]float64{0.6, 0.5, 0.4})
	testkit.OK(t, err)
	s := speculation.Shape{Depth: 3, Width: 3, Siblings: 0.3}
	// Every token is followed by 3, but only the 3 likeliest of a depth are followed further. At
	// the first depth that is all of them.
	d := drafts(t, s, a)[2]
	if d.Tokens != 3+9 {
		t.Fatalf("%d tokens, want 12", d.Tokens)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const walks = 400_000
	var reached [2]int
	for range walks {
		for depth, rate := range []float64{0.6, 0.5} {
			right := rng.Float64() < rate
			for range s.Width - 1 {
				right = right || rng.Float64() < s.Siblings
			}
			if !right {
				break
			}
			reached[depth]++
		}
	}
	for depth, n := range reached {
		got, want := float64(n)/walks, d.Reach[0][depth]
		if sigma := math.Sqrt(want * (1 - want) / walks); math.Abs(got-want) > 4*sigma {
			t.Errorf("depth %d: %g of the walks get there, want %g ± %g", depth+1, got, want, sigma)
		}
	}
}

// A Beta law has the mean and the moments of the distribution: the chance that i tokens are
// accepted is E[α^i] = Π (a+j)/(a+b+j).
func TestBetaMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(0.05, 0.95).Draw(t, "mean")
		widest := math.Sqrt(mean * (1 - mean) / (1 + 0.25/min(mean, 1-mean)))
		std := rapid.Float64Range(0.02, 0.999).Draw(t, "share") * widest
		law, err := speculation.Beta(mean, std)
		testkit.OK(t, err)
		total := mean*(1-mean)/(std*std) - 1
		d := drafts(t, speculation.Shape{Depth: 4, Width: 1}, law)[4]
		want := 1.0
		for i := range 4 {
			want *= (total*mean + float64(i)) / (total + float64(i))
			got := 0.0
			for kind := range d.Reach {
				got += d.Reach[kind][i] / float64(len(d.Reach))
			}
			if math.Abs(got-want) > 0.02*want+1e-4 {
				t.Fatalf("mean %g, std %g: %d tokens are accepted with chance %g, want %g", mean,
					std, i+1, got, want)
			}
			// Parts are cut by an inverse that is not exact, which a rate near 1 shows.
			if i == 0 && math.Abs(got-mean) > 1e-7 {
				t.Fatalf("the mean is %g, want %g", got, mean)
			}
		}
	})
}

// EAGLE-3 (arXiv:2503.01840, table 1 and figure 7; LLaMA-Instruct 3.1 8B on MT-bench, temperature
// 0): chances of 0.71 falling to 0.51 for EAGLE and of about 0.8 throughout for EAGLE-3 give, in
// the published trees, 4.05 (EAGLE-2) and 6.13 tokens a step. The siblings' chance is that of
// another drafter (SpecInfer), so that no more than the size can be asked for.
func TestPublishedTrees(t *testing.T) {
	for _, c := range []struct {
		name  string
		rates []float64
		depth int
		want  float64
	}{
		{"EAGLE-2", []float64{0.71, 0.67, 0.63, 0.6, 0.57, 0.54, 0.51}, 6, 4.05},
		{"EAGLE-3", []float64{0.8}, 8, 6.13},
	} {
		a, err := speculation.ByPosition(c.rates)
		testkit.OK(t, err)
		d := drafts(t, speculation.Shape{Depth: c.depth, Width: 10, Nodes: 59, Siblings: 0.22},
			a)[c.depth]
		t.Logf("%s: %.2f tokens a step, published %.2f", c.name, d.Mean(), c.want)
		if math.Abs(d.Mean()/c.want-1) > 0.15 {
			t.Errorf("%s: %.2f tokens a step, published %.2f", c.name, d.Mean(), c.want)
		}
	}
}

func TestBadShapes(t *testing.T) {
	a, _ := speculation.Constant(0.5)
	for _, s := range []speculation.Shape{
		{Depth: 0, Width: 1}, {Depth: 65, Width: 1}, {Depth: 3, Width: 0}, {Depth: 3, Width: 65},
		{Depth: 3, Width: 2, Nodes: 2},
		{Depth: 3, Width: 2, Siblings: 1.1}, {Depth: 3, Width: 2, Siblings: math.NaN()},
	} {
		if d, err := s.Drafts(a); err == nil {
			t.Errorf("%+v: accepted, %v", s, d)
		}
	}
	for _, rates := range [][]float64{nil, {1.1}, {0.5, -0.1}, {math.NaN()}} {
		if a, err := speculation.ByPosition(rates); err == nil {
			t.Errorf("rates %v: accepted, %v", rates, a)
		}
	}
	for _, beta := range [][2]float64{{0, 0.1}, {1, 0.1}, {0.5, 0.5}, {0.5, 0}, {0.5, math.NaN()}} {
		if a, err := speculation.Beta(beta[0], beta[1]); err == nil {
			t.Errorf("mean and deviation %v: accepted, %v", beta, a)
		}
	}
}
