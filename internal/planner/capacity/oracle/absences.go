package oracle

import (
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
)

// leastAwayProbability is the probability below which a number of replicas that are away at once is
// not examined. All requests are taken to miss the SLO then.
const leastAwayProbability = 1e-5

// InterruptedFleet is a fleet of which some replicas are taken away at random.
type InterruptedFleet struct {
	candidate.Interruption
	Spot int     // the number of replicas or groups that are taken away
	Step int     // numbers of absent replicas are examined in steps of as many, rounded up
	Rate float64 // of requests, 1/s
	// Share is the share of the requests that the spot replicas serve.
	Share float64
	// Sustained returns the rate that the fleet sustains with some of them away.
	Sustained func(away int) float64
	// Simulate returns what the fleet shows with some of them away.
	Simulate func(ctx context.Context, away int) (Trial, error)
}

// Judge returns the trial of the whole fleet, with the shares that keep each part of the SLO in the
// long run.
//
// The shares are means over how many replicas are away, each with its probability: binomial for
// those taken away by themselves, besides the times when all go at once. Where the replicas that
// are left sustain less than the rate, all requests are taken to miss the SLO, until the queue that
// builds up has been served by all replicas again (a fluid queue). The requests that a replica has
// under way when it goes are taken to miss it too.
func (f *InterruptedFleet) Judge(ctx context.Context) (Trial, error) {
	full, err := f.Simulate(ctx, 0)
	if err != nil {
		return Trial{}, err
	}
	lost, kept := f.Interruption.Rate*f.underWay(&full), make([]float64, len(full.Clauses))
	spare := max(f.Sustained(0)-f.Rate, 1e-3*f.Rate)
	count := func(away int, chance float64) error {
		if sustained := f.Sustained(away); sustained < f.Rate && away > 0 {
			lost += chance * (f.Rate - sustained) / spare
			return nil
		}
		t, err := f.Simulate(ctx, away)
		if err != nil {
			return err
		}
		for i := range kept {
			kept[i] += float64(chance * t.Clauses[i].Kept.Mean)
		}
		return nil
	}
	own := 1 - f.All()
	for away, rest := 0, own; rest > leastAwayProbability*own; away = min(away+f.Step, f.Spot) {
		chance := 0.0 // of this many and, in steps of more than one, of those rounded up to it
		for k := max(0, away-f.Step+1); k <= away; k++ {
			chance += own * Binomial(f.Spot, k, f.Alone())
		}
		if rest -= chance; away == f.Spot {
			rest = 0
		}
		if err := count(away, chance); err != nil {
			return Trial{}, err
		}
	}
	if f.All() > 0 {
		if err := count(f.Spot, f.All()); err != nil {
			return Trial{}, err
		}
	}
	full.Clauses = slices.Clone(full.Clauses)
	for i := range kept { // what is lost may have missed the SLO anyhow, so that the two overlap
		full.Clauses[i].Kept = stats.Interval{Mean: max(0, kept[i]-lost)}
	}
	return full, nil
}

// underWay returns how many seconds' worth of all requests the spot replicas have under way, as far
// as they serve them.
func (f *InterruptedFleet) underWay(full *Trial) float64 {
	return f.Share * full.Latencies["mean_e2el_ms"] / 1000
}

// Binomial is the probability of k out of n where each has the probability p.
func Binomial(n, k int, p float64) float64 {
	ways, _ := math.Lgamma(float64(n + 1))
	for _, part := range []int{k, n - k} {
		orders, _ := math.Lgamma(float64(part + 1))
		ways -= orders
	}
	if p == 0 {
		return float64(1 - min(k, 1))
	}
	return math.Exp(ways + float64(float64(k)*math.Log(p)) +
		float64(float64(n-k)*math.Log1p(-p)))
}
