package oracle

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
)

// stub is a fleet of as many replicas as the rate needs and some more, of which the SLO is kept by
// as many requests as replicas are there.
func stub(p candidate.Interruption, spot, base, need int) *InterruptedFleet {
	n := spot + base
	return &InterruptedFleet{Interruption: p, Spot: spot, Step: 1, Rate: float64(need), Share: 1,
		Sustained: func(away int) float64 { return float64(n - away) },
		Simulate: func(_ context.Context, away int) (Trial, error) {
			kept := stats.Interval{Mean: 1 - float64(away)/float64(4*n)}
			return Trial{Clauses: []asked.Clause{{Kept: kept, Target: 0.5}},
				Latencies: map[string]float64{"mean_e2el_ms": 2000}}, nil
		}}
}

// What months of drawn absences keep is on average what the probabilities of the numbers of absent
// replicas give, whatever share of the interruptions takes all away, as long as one absent replica
// leaves more than the rate needs: else queues wait for its return, which the probabilities do not
// know.
func TestMonthsAgreeWithTheLongRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := candidate.Interruption{Rate: rapid.Float64Range(0.02, 0.1).Draw(t, "rate") / 3600,
			Together: rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "together"),
			Notice:   120, Away: rapid.Float64Range(60, 1800).Draw(t, "away")}
		spot, base := rapid.IntRange(1, 6).Draw(t, "spot"), rapid.IntRange(0, 4).Draw(t, "base")
		f := stub(p, spot, base, rapid.IntRange(0, max(0, spot+base-2)).Draw(t, "need"))
		f.Rate = max(f.Rate, 0.5)
		full, states, err := f.Judge(context.Background())
		testkit.OK(t, err)
		want := full.Clauses[0].Kept.Mean
		got, least := f.OverMonths(states, &full, 0, rapid.Uint64().Draw(t, "seed"))
		if spread := 0.004 + 0.3*(1-want); math.Abs(got-want) > spread || least > got {
			t.Fatalf("%g over months, at least %g in most, want about %g", got, least, want)
		}
	})
}

// Interruptions of all replicas at once are as frequent for each replica as its own, and those of a
// fleet do not depend on how large it is.
func TestAbsencesAreDrawnAtTheRate(t *testing.T) {
	for _, together := range []float64{0, 0.4, 1} {
		p := candidate.Interruption{Rate: 1.0 / 3600, Together: together, Notice: 60, Away: 300}
		const within = 3000 * 3600.0
		drawn, larger := p.Draw(4, within, 7), p.Draw(6, within, 7)
		for k, list := range drawn {
			away := 0.0
			for i, a := range list {
				away += a.To - a.From
				if a != larger[k][i] || i > 0 && a.From < list[i-1].To {
					t.Fatalf("absence %d of replica %d: %v", i, k, a)
				}
			}
			if share := away / within; math.Abs(share/p.Down()-1) > 0.1 {
				t.Errorf("together %g: replica %d is away for %g of the time, want %g", together, k,
					share, p.Down())
			}
		}
		if same := drawn[0][0] == drawn[1][0]; same != (together == 1) {
			t.Errorf("together %g: the first absences of two replicas are alike: %v", together,
				same)
		}
	}
}
