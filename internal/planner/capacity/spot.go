package capacity

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// keepsOnSpot returns what n replicas of a spot option show at a rate although they are taken away
// at random.
func (s *judge) keepsOnSpot(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, error) {
	l, err := s.interruptedFleet(ctx, o, n, rate, wrong, seed)
	if err != nil {
		return oracle.Trial{}, err
	}
	t, _, err := l.Judge(ctx)
	if err != nil {
		return oracle.Trial{}, err
	}
	s.bind(o, &t)
	return t, nil
}

// interruptedFleet describes n replicas of a spot option.
func (s *judge) interruptedFleet(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (*oracle.InterruptedFleet, error) {
	p, _ := o.Interrupted()
	one, err := s.alone(ctx, o, wrong, seed)
	if err != nil {
		return nil, err
	}
	spot := n - o.Based()
	return &oracle.InterruptedFleet{Interruption: p, Spot: spot, Rate: rate,
		Share:     float64(spot) / float64(n),
		Step:      s.step(o, n), // of large fleets, some numbers count as the next larger one
		Sustained: func(away int) float64 { return float64(n-away) * one },
		Simulate: func(ctx context.Context, away int) (oracle.Trial, error) {
			t, _, err := s.simulateAt(ctx, o, n-away, rate, wrong, seed)
			return t, err
		},
	}, nil
}

// bind sets the share that a trial of a spot option keeps, from its clauses.
func (s *judge) bind(o *candidate.Option, t *oracle.Trial) {
	p, _ := o.Interrupted()
	whole, binds := t.Keeps(), asked.Binding(t.Clauses)
	t.Kept, t.Target = binds.Kept, binds.Target
	if whole {
		t.Limit = p.Words(binds.Kept.Mean)
	}
}

// keepsOnSpotOver is keepsOnSpot over all of some seeds, each of which counts the same.
func (s *judge) keepsOnSpotOver(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors, seeds []uint64) (oracle.Trial, error) {
	var all oracle.Trial
	for k, seed := range seeds {
		t, err := s.keepsOnSpot(ctx, o, n, s.rate, wrong, seed)
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
	s.bind(o, &all)
	return all, nil
}

// seedsBelow returns the seeds of a plan's runs, at most n.
func (s *judge) seedsBelow(n int) []uint64 {
	var list []uint64
	for seed := range s.trials.File.Plan.Seeds(n) {
		list = append(list, uint64(seed))
	}
	return list
}

// alone returns the highest rate that a replica or group sustains by itself, to about 3 %, where
// predictions are wrong by some factors. Short runs show it with chance in it. But what an option
// sustains with the errors that decide its number of replicas, it also sustains with earlier
// latencies, and no more with later ones. So chances do not contradict the decision.
func (s *judge) alone(ctx context.Context, o *candidate.Option, wrong candidate.ErrorFactors,
	seed uint64) (float64, error) {
	one, err := s.sustainedAlone(ctx, o, wrong, seed)
	decisive := o.Worst()
	if err != nil || wrong == decisive {
		return one, err
	}
	decided, err := s.sustainedAlone(ctx, o, decisive, seed)
	switch {
	case wrong.Within(decisive):
		one = max(one, decided)
	case decisive.Within(wrong):
		one = min(one, decided)
	}
	return one, err
}

// sustainedAlone is alone as runs with these factors show it.
func (s *judge) sustainedAlone(ctx context.Context, o *candidate.Option,
	wrong candidate.ErrorFactors, seed uint64) (float64, error) {
	slower, alike := *o, *o.Parts
	slower.Parts, alike.Slow = &alike, wrong.Steps
	alike.Late = wrong.First
	slower.Ceiling = o.Ceiling * o.Slow / wrong.Steps
	r := &rateGrid{kept: grid + 1, ceiling: slower.Ceiling}
	rough := *s.trials
	rough.Rough, rough.Seed = true, seed
	for !r.done() {
		place := (r.kept + r.missed) / 2
		v, err := rough.Sustains(ctx, &slower, r.rate(place))
		if err != nil {
			return 0, err
		}
		if v.Sustained {
			r.kept = place
		} else {
			r.missed = place
		}
	}
	return r.rate(r.kept), nil
}
