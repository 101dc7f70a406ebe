package judge

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Where no replica is left, nothing is simulated and all requests miss the SLO, also of a load
// without a steady rate.
func TestNothingIsServedByNoReplica(t *testing.T) {
	p := candidate.Interruption{Rate: 0.05 / 3600, Together: 0.5, Outage: 300}
	f := &InterruptedFleet{Interruption: p, Spot: 2, Step: 1, Share: 1,
		Sustained: func(down int) float64 { return float64(2 - down) },
		Simulate: func(_ context.Context, down int) (Trial, error) {
			if down == 2 {
				t.Error("a fleet of no replica is simulated")
			}
			return Trial{Clauses: []asked.Clause{{Kept: stats.Interval{Mean: 1}, Target: 0.5}},
				Latencies: map[string]float64{"mean_e2el_ms": 2000}}, nil
		}}
	full, err := f.Judge(context.Background())
	testkit.OK(t, err)
	if kept, most := full.Clauses[0].Kept.Mean, 1-p.All(); kept > most || !(kept > 0) {
		t.Errorf("%g of the requests keep the SLO, want at most %g", kept, most)
	}
}

// What the replicas that are left serve is told from one of them only where that is far from the
// rate; near it, they are simulated, and keep the SLO or lose all requests.
func TestNearTheRateReplicasLeftAreSimulated(t *testing.T) {
	p := candidate.Interruption{Rate: 1.0 / 3600, Outage: 600}
	for _, c := range []struct {
		one         float64
		keeps, lost bool
	}{{0.99, true, false}, {0.99, false, true}, {0.6, true, true}, {1.01, false, false}} {
		f := &InterruptedFleet{Interruption: p, Spot: 4, Step: 1, Rate: 3, Share: 1,
			Sustained: func(down int) float64 { return c.one * float64(4-down) },
			Simulate: func(_ context.Context, down int) (Trial, error) {
				kept := 0.0
				if down == 0 || down == 1 && c.keeps || c.one > 1 {
					kept = 1
				}
				return Trial{Clauses: []asked.Clause{{Kept: stats.Interval{Mean: kept},
					Target: 0.9}}, Kept: stats.Interval{Mean: kept}, Target: 0.9,
					Latencies: map[string]float64{"mean_e2el_ms": 1}}, nil
			}}
		full, err := f.Judge(t.Context())
		testkit.OK(t, err)
		oneDown := Binomial(4, 1, p.Down())
		if kept := full.Clauses[0].Kept.Mean; (kept < 1-oneDown) != c.lost {
			t.Errorf("%+v: %g of the requests keep the SLO; one is down for %g of the time", c,
				kept, oneDown)
		}
	}
}

// Interruptions of all replicas at once are as frequent for each replica as its own, and those of a
// fleet do not depend on how large it is.
func TestAbsencesAreDrawnAtTheRate(t *testing.T) {
	for _, together := range []float64{0, 0.4, 1} {
		p := candidate.Interruption{Rate: 1.0 / 3600, Together: together, Notice: 60, Outage: 300}
		const within = 3000 * 3600.0
		drawn, larger := p.Draw(4, within, 7), p.Draw(6, within, 7)
		for k, list := range drawn {
			down := 0.0
			for i, a := range list {
				down += a.To - a.From
				if a != larger[k][i] || i > 0 && a.From < list[i-1].To {
					t.Fatalf("absence %d of replica %d: %v", i, k, a)
				}
			}
			if share := down / within; math.Abs(share/p.Down()-1) > 0.1 {
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
