package detail

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Where TTFT alone matters, errors of TTFT decide: with steps as predicted for sure, and limits
// that are met by just the quantile of TTFT's errors, the SLO is kept in just that share of cases.
// The two latencies together are kept less often than either, and at least as often as if their
// errors were independent.
func TestChancesCountBothLatencies(t *testing.T) {
	p := candidate.PhysicsOf(evidence.Spread{TPOT: 0.1, TTFT: 0.25, TPOTBias: 0.02, TTFTBias: 0.3})
	if late := p.Late(); math.Abs(late.Bias-0.3) > 1e-9 || math.Abs(late.Spread-0.25) > 1e-9 {
		t.Fatalf("the errors of TTFT are %+v", late)
	}
	chance := func(tpot, ttft float64) float64 {
		var runs []lateRun
		for z := -8.0; z <= 8; z += 0.05 {
			steps := math.Exp(p.Steps.Bias + p.Steps.Spread*z)
			most := ttft / steps
			if steps > tpot {
				most = 0
			}
			runs = append(runs, lateRun{deviations: z, most: []asked.Late{onTTFT(most)}})
		}
		var c answer.Chance
		setChance(&c, runs, p.Kept)
		return c.Probability
	}
	steps, late := math.Exp(0.02+0.1*1.2816), math.Exp(0.3+0.25*1.2816) // 90 % of cases each
	both, first, pace := chance(steps, late), chance(99, late), chance(steps, 99)
	if math.Abs(first-0.9) > 0.02 || math.Abs(pace-0.9) > 0.02 || both > min(first, pace) ||
		both < 0.81 || both > 0.9 {
		t.Errorf("TTFT %g, TPOT %g, both %g; want 0.9, 0.9 and 0.81 to 0.9", first, pace, both)
	}
	if worst := p.Worst(0.9); math.Abs(worst.Steps-steps) > 1e-3 ||
		math.Abs(worst.Steps*worst.First-late) > 1e-3 {
		t.Errorf("the worst of 90 %% of cases is %+v, want %g and %g", worst, steps, late)
	}
}
