package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// keepsOnSpot returns what n replicas of a spot option show at a rate although they are taken away
// at random.
func (s *search) keepsOnSpot(ctx context.Context, o *option, n int, rate float64,
	wrong errorFactors, seed uint64) (trial, error) {
	l, err := s.interruptedFleet(ctx, o, n, rate, wrong, seed)
	if err != nil {
		return trial{}, err
	}
	t, _, err := l.judge(ctx)
	if err != nil {
		return trial{}, err
	}
	s.bind(o, &t)
	return t, nil
}

// interruptedFleet describes n replicas of a spot option.
func (s *search) interruptedFleet(ctx context.Context, o *option, n int, rate float64,
	wrong errorFactors, seed uint64) (*interruptedFleet, error) {
	p, _ := o.interrupted()
	one, err := s.alone(ctx, o, wrong, seed)
	if err != nil {
		return nil, err
	}
	spot := n - o.based()
	return &interruptedFleet{interruption: p, spot: spot, rate: rate,
		share:     float64(spot) / float64(n),
		step:      s.step(o, n), // of large fleets, some numbers count as the next larger one
		sustained: func(away int) float64 { return float64(n-away) * one },
		simulate: func(ctx context.Context, away int) (trial, error) {
			t, _, err := s.simulateAt(ctx, o, n-away, rate, wrong, seed)
			return t, err
		},
	}, nil
}

// bind sets the share that a trial of a spot option keeps, from its clauses.
func (s *search) bind(o *option, t *trial) {
	p, _ := o.interrupted()
	whole, binds := t.kept(), asked.Binding(t.Clauses)
	t.Kept, t.Target = binds.Kept, binds.Target
	if whole {
		t.Limit = p.words(binds.Kept.Mean)
	}
}

// keepsOnSpotOver is keepsOnSpot over all of some seeds, each of which counts the same.
func (s *search) keepsOnSpotOver(ctx context.Context, o *option, n int, wrong errorFactors,
	seeds []uint64) (trial, error) {
	var all trial
	for k, seed := range seeds {
		t, err := s.keepsOnSpot(ctx, o, n, s.rate, wrong, seed)
		if err != nil {
			return trial{}, err
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
func (s *search) seedsBelow(n int) []uint64 {
	var list []uint64
	for seed := range s.trials.file.Plan.Seeds(n) {
		list = append(list, uint64(seed))
	}
	return list
}

// alone returns the highest rate that a replica or group sustains by itself, to about 3 %, where
// predictions are wrong by some factors. Short runs show it with chance in it. But what an option
// sustains with the errors that decide its number of replicas, it also sustains with earlier
// latencies, and no more with later ones. So chances do not contradict the decision.
func (s *search) alone(ctx context.Context, o *option, wrong errorFactors,
	seed uint64) (float64, error) {
	one, err := s.sustainedAlone(ctx, o, wrong, seed)
	decisive := o.worst()
	if err != nil || wrong == decisive {
		return one, err
	}
	decided, err := s.sustainedAlone(ctx, o, decisive, seed)
	switch {
	case wrong.within(decisive):
		one = max(one, decided)
	case decisive.within(wrong):
		one = min(one, decided)
	}
	return one, err
}

// sustainedAlone is alone as runs with these factors show it.
func (s *search) sustainedAlone(ctx context.Context, o *option, wrong errorFactors,
	seed uint64) (float64, error) {
	slower, alike := *o, *o.parts
	slower.parts, alike.slow = &alike, wrong.steps
	alike.late = wrong.first
	slower.ceiling = o.ceiling * o.slow / wrong.steps
	r := &rateRange{option: o.index, replicas: 1, kept: grid + 1, ceiling: slower.ceiling}
	rough := *s.trials
	rough.rough, rough.seed = true, seed
	for !r.done() {
		place := (r.kept + r.missed) / 2
		v, err := rough.sustains(ctx, &slower, r.rate(place))
		if err != nil {
			return 0, err
		}
		if v.sustained {
			r.kept = place
		} else {
			r.missed = place
		}
	}
	return r.rate(r.kept), nil
}

// The length of the simulation in which the chosen fleet loses replicas at random: as many
// interruptions, unless those are so rare that they take more requests.
const (
	wantedInterruptions = 20
	mostInterrupted     = 200_000
)

// outages draws when n replicas or groups of a fleet, the first of it, are taken away within a
// time, in seconds. Replica k of a group of size in pools that follow each other goes with the
// others of its group.
func (o *option) outages(n int, within float64, seed uint64) []scenarios.Outage {
	p, _ := o.interrupted()
	var list []scenarios.Outage
	for group, absences := range p.draw(n, within, seed) {
		for _, a := range absences {
			for _, replica := range o.members(group, n) {
				list = append(list, scenarios.Outage{Replica: replica, At: span(a.from),
					For: span(max(a.to-a.from, 0.001))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b scenarios.Outage) int { return cmp.Compare(a.At, b.At) })
	return list
}

func span(seconds float64) scenarios.Span { return scenarios.Span(sim.Seconds(seconds)) }

// members returns the replicas of one of n groups, counted through all pools.
func (o *option) members(group, n int) []int {
	if o.decode == nil {
		return []int{group}
	}
	var list []int
	prefills, decodes := int(o.prefills), int(o.decodes)
	for k := range prefills {
		list = append(list, group*prefills+k)
	}
	for k := range decodes {
		list = append(list, n*prefills+group*decodes+k)
	}
	return list
}

// interrupt simulates the chosen fleet with replicas that are taken away at random; nil where they
// are not, where the load is not steady, or where a part stands for the fleet: the smaller a fleet,
// the more the share of it that is away varies.
func (s *search) interrupt(ctx context.Context) (*answer.Interrupted, error) {
	o, n := s.chosen(), s.size()
	p, taken := o.interrupted()
	if !taken || s.rate == 0 || s.byPart(o, n) {
		return nil, nil
	}
	plan := &s.trials.file.Plan
	spot := n - o.based()
	seconds := wantedInterruptions / (float64(spot) * p.rate)
	requests := int64(math.Ceil(min(mostInterrupted, seconds*s.rate)))
	requests = max(requests, plan.Together(s.rate, n))
	seconds = float64(requests) / s.rate
	scenario := o.scenario(&plan.Menu, n, 1)
	scenario.Fleet.Outages = o.outages(spot, seconds, plan.Seed)
	scenario.Fleet.Retries = 3
	i := &answer.Interrupted{Hours: seconds / 3600,
		Interruptions: len(scenario.Fleet.Outages) / len(o.members(0, n))}
	t, err := s.trials.trial(ctx, scenario, s.rate, requests)
	if err != nil {
		return nil, err
	}
	seeds := s.seedsBelow(s.few())
	expected, err := s.keepsOnSpotOver(ctx, o, n, asPredicted(), seeds)
	if err != nil {
		return nil, err
	}
	i.Kept, i.Expected = t.All, expected.Kept.Mean
	fleet, err := s.interruptedFleet(ctx, o, n, s.rate, asPredicted(), seeds[0])
	if err != nil {
		return nil, err
	}
	full, states, err := fleet.judge(ctx)
	if err != nil {
		return nil, err
	}
	i.Months = months
	i.Monthly, i.MonthlyLeast = fleet.overMonths(states, &full, asked.BindingPart(full.Clauses),
		plan.Seed)
	return i, nil
}
