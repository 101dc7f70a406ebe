package judge

import (
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
)

// KeepsOnSpot returns what n replicas of a spot option show at a rate although they are taken away
// at random.
func (j *Judge) KeepsOnSpot(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (Trial, error) {
	l, err := j.InterruptedFleet(ctx, o, n, rate, wrong, seed)
	if err != nil {
		return Trial{}, err
	}
	t, err := l.Judge(ctx)
	if err != nil {
		return Trial{}, err
	}
	j.bind(o, &t)
	return t, nil
}

// InterruptedFleet describes n replicas of a spot option.
func (j *Judge) InterruptedFleet(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (*InterruptedFleet, error) {
	p, _ := o.Interrupted()
	one, err := j.Alone(ctx, o, wrong, seed)
	if err != nil {
		return nil, err
	}
	spot := n - o.Based()
	return &InterruptedFleet{Interruption: p, Spot: spot, Rate: rate,
		Share:     float64(spot) / float64(n),
		Step:      j.Step(o, n), // of large fleets, some numbers count as the next larger one
		Sustained: func(away int) float64 { return float64(n-away) * one },
		Simulate: func(ctx context.Context, away int) (Trial, error) {
			t, _, err := j.simulateAt(ctx, o, n-away, rate, wrong, seed)
			return t, err
		},
	}, nil
}

// bind sets the share that a trial of a spot option keeps, from its clauses.
func (j *Judge) bind(o *candidate.Option, t *Trial) {
	p, _ := o.Interrupted()
	whole, binds := t.Keeps(), asked.Binding(t.Clauses)
	t.Kept, t.Target = binds.Kept, binds.Target
	if whole {
		t.Limit = p.Words(binds.Kept.Mean)
	}
}

// KeepsOnSpotOver is keepsOnSpot over all of some seeds, with equal weights.
func (j *Judge) KeepsOnSpotOver(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors, seeds []uint64) (Trial, error) {
	var all Trial
	for k, seed := range seeds {
		t, err := j.KeepsOnSpot(ctx, o, n, j.Rate, wrong, seed)
		if err != nil {
			return Trial{}, err
		}
		if k == 0 {
			all = t
			all.Clauses = slices.Clone(t.Clauses)
			continue
		}
		for i := range all.Clauses {
			all.Clauses[i].Kept.Mean += (t.Clauses[i].Kept.Mean - all.Clauses[i].Kept.Mean) /
				float64(k+1)
		}
		all.Growing = all.Growing || t.Growing
	}
	j.bind(o, &all)
	return all, nil
}

// SeedsBelow returns the seeds of a plan's runs, at most n.
func (j *Judge) SeedsBelow(n int) []uint64 {
	var list []uint64
	for seed := range j.Trials.File.Plan.Seeds(n) {
		list = append(list, uint64(seed))
	}
	return list
}

// Alone returns the highest rate that a replica or group sustains by itself, to about 3 %, where
// predictions are wrong by some factors. Short runs show it with chance in it. But what an option
// sustains with the errors that decide its number of replicas, it also sustains with earlier
// latencies, and no more with later ones. So chances do not contradict the decision.
func (j *Judge) Alone(ctx context.Context, o *candidate.Option, wrong candidate.ErrorFactors,
	seed uint64) (float64, error) {
	one, err := j.sustainedAlone(ctx, o, wrong, seed)
	decisive := o.Worst()
	if err != nil || wrong == decisive {
		return one, err
	}
	decided, err := j.sustainedAlone(ctx, o, decisive, seed)
	switch {
	case wrong.Within(decisive):
		one = max(one, decided)
	case decisive.Within(wrong):
		one = min(one, decided)
	}
	return one, err
}

// sustainedAlone is alone as runs with these factors show it.
func (j *Judge) sustainedAlone(ctx context.Context, o *candidate.Option,
	wrong candidate.ErrorFactors, seed uint64) (float64, error) {
	slower, alike := *o, *o.Parts
	slower.Parts, alike.Slow = &alike, wrong.Steps
	alike.Late = wrong.First
	slower.Ceiling = o.Ceiling * o.Slow / wrong.Steps
	grid := &RateGrid{Ceiling: slower.Ceiling}
	rough := *j.Trials
	rough.Rough, rough.Seed = true, seed
	place, err := Least{First: (Grid + 1) / 2, Most: Grid, High: Grid + 1, Near: 1}.Find(
		func(place int) (bool, error) {
			v, err := rough.Sustains(ctx, &slower, grid.Rate(place))
			return v.Sustained, err
		})
	if err != nil {
		return 0, err
	}
	return grid.Rate(place), nil
}

// leastAwayProbability is the probability below which a number of replicas that are away at once is
// not examined. All requests are taken to miss the SLO then.
const leastAwayProbability = 1e-5

// InterruptedFleet is a fleet that loses some replicas at random.
type InterruptedFleet struct {
	candidate.Interruption
	Spot int     // the number of replicas or groups that are taken away
	Step int     // the step between the numbers of absent replicas that are examined, rounded up
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
		if left := f.Sustained(away); away > 0 && (left == 0 || left < f.Rate) {
			if f.Rate > 0 { // of a steady load, the queue that builds up misses it too
				lost += chance * (f.Rate - left) / spare
			}
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
