package judge

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
)

// KeepsOnSpot returns what n replicas of a spot option show at a rate although they are taken away
// at random.
func (j *Judge) KeepsOnSpot(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, error) {
	l, err := j.InterruptedFleet(ctx, o, n, rate, wrong, seed)
	if err != nil {
		return oracle.Trial{}, err
	}
	t, err := l.Judge(ctx)
	if err != nil {
		return oracle.Trial{}, err
	}
	j.bind(o, &t)
	return t, nil
}

// InterruptedFleet describes n replicas of a spot option.
func (j *Judge) InterruptedFleet(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (*oracle.InterruptedFleet, error) {
	p, _ := o.Interrupted()
	one, err := j.Alone(ctx, o, wrong, seed)
	if err != nil {
		return nil, err
	}
	spot := n - o.Based()
	return &oracle.InterruptedFleet{Interruption: p, Spot: spot, Rate: rate,
		Share:     float64(spot) / float64(n),
		Step:      j.Step(o, n), // of large fleets, some numbers count as the next larger one
		Sustained: func(away int) float64 { return float64(n-away) * one },
		Simulate: func(ctx context.Context, away int) (oracle.Trial, error) {
			t, _, err := j.simulateAt(ctx, o, n-away, rate, wrong, seed)
			return t, err
		},
	}, nil
}

// bind sets the share that a trial of a spot option keeps, from its clauses.
func (j *Judge) bind(o *candidate.Option, t *oracle.Trial) {
	p, _ := o.Interrupted()
	whole, binds := t.Keeps(), asked.Binding(t.Clauses)
	t.Kept, t.Target = binds.Kept, binds.Target
	if whole {
		t.Limit = p.Words(binds.Kept.Mean)
	}
}

// KeepsOnSpotOver is keepsOnSpot over all of some seeds, each of which counts the same.
func (j *Judge) KeepsOnSpotOver(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors, seeds []uint64) (oracle.Trial, error) {
	var all oracle.Trial
	for k, seed := range seeds {
		t, err := j.KeepsOnSpot(ctx, o, n, j.Rate, wrong, seed)
		if err != nil {
			return oracle.Trial{}, err
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
	place, err := strategy.Least{First: (Grid + 1) / 2, Most: Grid, High: Grid + 1, Near: 1}.Find(
		func(place int) (bool, error) {
			v, err := rough.Sustains(ctx, &slower, grid.Rate(place))
			return v.Sustained, err
		})
	if err != nil {
		return 0, err
	}
	return grid.Rate(place), nil
}
