package speculation_test

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// step is the time of the model for anything, in the closed forms.
const step = sim.Millisecond

// deviation is the standard deviation of the number of tokens that a step gives.
func deviation(d speculation.Draft) float64 {
	variance := 0.0
	for accepted := 0; accepted <= len(d.Reach[0]); accepted++ {
		chance := 1.0
		if accepted > 0 {
			chance = d.Reach[0][accepted-1]
		}
		if accepted < len(d.Reach[0]) {
			chance -= d.Reach[0][accepted]
		}
		variance += chance * math.Pow(float64(accepted+1)-d.Mean(), 2)
	}
	return math.Sqrt(variance)
}

// The simulation converges to the closed forms of Leviathan et al. 2023 within its confidence
// interval (four standard deviations): tokens a step (equation 1), wall time (theorem 3.8) and
// operations (theorem 3.11).
func TestConvergesToClosedForms(t *testing.T) {
	const tokens = 60_000
	for _, c := range []struct {
		alpha, cost float64
		gamma       int
	}{
		{0.2, 0, 3}, {0.5, 0.02, 1}, {0.6, 0.1, 2}, {0.75, 0.02, 7}, {0.8, 0.04, 7}, {0.8, 0.3, 5},
		{0.9, 0.05, 10}, {1, 0.1, 4}, {0, 0.1, 2},
	} {
		a := constant(t, c.alpha)
		p := speculator(t, speculation.Config{
			Acceptance: a, Shape: speculation.Shape{Depth: c.gamma, Width: 1},
			Lengths: speculation.Fixed{}, Seed: 1,
			Drafter: drafter{pass: sim.Time(c.cost * float64(step)), flops: c.cost},
			Verify:  linear{base: step},
		})
		r := serve(t, answers(1, tokens), 1, linear{base: step}, p, nil)
		mean, steps := tokensPerStep(r)
		d := drafts(t, speculation.Shape{Depth: c.gamma, Width: 1}, a)[c.gamma]
		// The last step may give more tokens than the answer has room for.
		interval := 4*deviation(d)/math.Sqrt(steps) + float64(c.gamma)/steps
		if want := speculation.ExpectedTokens(c.alpha, c.gamma); math.Abs(mean-want) > interval {
			t.Errorf("α=%g γ=%d: %.4f tokens a step, want %.4f ± %.4f", c.alpha, c.gamma, mean,
				want, interval)
		}
		relative := interval / mean
		decoding := (r.Busy - step).Seconds() // the first step computes the prompt
		speedup := float64(tokens-1) * step.Seconds() / decoding
		if want := speculation.Speedup(c.alpha, c.gamma,
			c.cost); math.Abs(speedup/want-1) > relative+1e-9 {
			t.Errorf("α=%g γ=%d c=%g: %.4f times as fast, want %.4f ± %.4f", c.alpha, c.gamma,
				c.cost, speedup, want, relative*want)
		}
		operations := (float64(r.DecodeTokens) + p.FLOPs()) / float64(tokens-1)
		if want := speculation.Operations(c.alpha, c.gamma,
			c.cost); math.Abs(operations/want-1) > relative+1e-9 {
			t.Errorf("α=%g γ=%d c=%g: %.4f times the operations, want %.4f ± %.4f", c.alpha,
				c.gamma, c.cost, operations, want, relative*want)
		}
	}
}

// The same for a law by position, a Beta law and a tree. Where requests differ, requests that
// accept little take more steps: over a run of equal answers, tokens a step are the harmonic mean
// over the requests.
func TestConvergesToExactMeans(t *testing.T) {
	byPosition, err := speculation.ByPosition([]float64{0.71, 0.67, 0.63, 0.6, 0.57})
	testkit.OK(t, err)
	beta, err := speculation.Beta(0.6, 0.2)
	testkit.OK(t, err)
	chain := speculation.Shape{Depth: 5, Width: 1}
	tree := speculation.Shape{Depth: 5, Width: 4, Nodes: 20, Siblings: 0.22}
	for _, c := range []struct {
		name  string
		a     speculation.Acceptance
		shape speculation.Shape
	}{
		{"by position", byPosition, chain}, {"Beta", beta, chain}, {"tree", byPosition, tree},
		{"tree and Beta", beta, tree},
	} {
		p := speculator(t, speculation.Config{
			Acceptance: c.a, Shape: c.shape, Lengths: speculation.Fixed{}, Seed: 2,
			Drafter: drafter{}, Verify: linear{base: step},
		})
		r := serve(t, answers(4000, 300), 200, linear{base: step}, p, nil)
		d := drafts(t, c.shape, c.a)[5]
		mean, _ := tokensPerStep(r)
		// The end of an answer cuts the last step short by less than the longest draft; requests
		// differ by less than half in speed.
		if want := d.Mean(); math.Abs(mean/want-1) > 2.5/300+4*0.5/math.Sqrt(4000) {
			t.Errorf("%s: %.4f tokens a step, want %.4f", c.name, mean, want)
		}
		if int64(d.Tokens)*(r.DecodeTokens-r.Drafted) != r.Drafted {
			t.Errorf("%s: %d tokens drafted in %d steps, want %d each", c.name, r.Drafted,
				r.DecodeTokens-r.Drafted, d.Tokens)
		}
	}
}

// Chen et al. 2023 (arXiv:2302.01318, tables 1 and 2): Chinchilla takes 14.1 ms a token alone, its
// draft model 1.8 ms, and with K=4 together 7.52 (XSum, nucleus), 7.00 (XSum, greedy) and 5.73 ms
// (HumanEval). These follow from acceptance rates of 0.71, 0.75 and 0.85, solved for from (14.1 +
// 4·1.8)/E(α, 4); the simulation gives the times back.
func TestChen(t *testing.T) {
	model, draft := sim.Seconds(14.1e-3), sim.Seconds(1.8e-3)
	for _, c := range []struct{ ms, alpha float64 }{{7.52, 0.71}, {7.00, 0.75}, {5.73, 0.85}} {
		need := (14.1 + 4*1.8) / c.ms
		low, high := 0.0, 1.0
		for range 50 {
			if alpha := (low + high) / 2; speculation.ExpectedTokens(alpha, 4) < need {
				low = alpha
			} else {
				high = alpha
			}
		}
		if math.Abs(low-c.alpha) > 0.005 {
			t.Errorf("%g ms a token take an acceptance rate of %.4f, want about %g", c.ms, low,
				c.alpha)
		}
		const tokens = 40_000
		p := speculator(t, speculation.Config{
			Acceptance: constant(t, low), Shape: speculation.Shape{Depth: 4, Width: 1},
			Lengths: speculation.Fixed{}, Seed: 3,
			Drafter: drafter{pass: draft}, Verify: linear{base: model},
		})
		r := serve(t, answers(1, tokens), 1, linear{base: model}, p, nil)
		if got := (r.Busy - model).Milliseconds() / (tokens - 1); math.Abs(got/c.ms-1) > 0.02 {
			t.Errorf("α=%.3f: %.3f ms a token, published %g", low, got, c.ms)
		}
	}
	// The best K for XSum with nucleus sampling is 3 (figure 1); the optimum is flat.
	cost := 1.8 / 14.1
	best := speculation.Speedup(0.71, speculation.OptimalLength(0.71, cost, 10), cost)
	if three := speculation.Speedup(0.71, 3, cost); three < 0.99*best {
		t.Errorf("K=3 is %.3f times as fast, the best K %.3f times", three, best)
	}
}

// With its own accelerators, a drafter that is always right is hidden behind the model, and one
// that never is costs its time besides.
func TestAhead(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		pass  sim.Time
		want  sim.Time // a step, four tokens drafted
	}{
		{1, step / 8, step}, {1, step / 2, 2 * step}, {0, step / 8, step + step/2},
		{0, step / 2, 4 * step},
	} {
		p := speculator(t, speculation.Config{
			Acceptance: constant(t, c.alpha), Shape: speculation.Shape{Depth: 4, Width: 1},
			Lengths: speculation.Fixed{}, Ahead: true,
			Drafter: drafter{pass: c.pass}, Verify: linear{base: step},
		})
		r := serve(t, answers(1, 5001), 1, linear{base: step}, p, nil)
		_, steps := tokensPerStep(r)
		got := float64(r.Busy-step) / steps
		if math.Abs(got/float64(c.want)-1) > 2/steps {
			t.Errorf("α=%g, %v a token: %v a step, want %v", c.alpha, c.pass, sim.Time(got), c.want)
		}
	}
}

// A drafter that finds something in a third of the steps only drafts in a third of them.
func TestMatch(t *testing.T) {
	p := speculator(t, speculation.Config{
		Acceptance: constant(t, 0.5), Shape: speculation.Shape{Depth: 3, Width: 1},
		Lengths: speculation.Fixed{}, Match: 1.0 / 3,
		Drafter: drafter{}, Verify: linear{base: step},
	})
	r := serve(t, answers(10, 5000), 10, linear{base: step}, p, nil)
	_, steps := tokensPerStep(r)
	if got, want := float64(r.Drafted)/3/steps,
		1.0/3; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/steps) {
		t.Errorf("drafts in %g of the steps, want %g", got, want)
	}
}
