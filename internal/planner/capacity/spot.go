package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// keepsOnSpot returns what n replicas of a spot option show at a rate although they are taken away
// at random.
func (s *search) keepsOnSpot(ctx context.Context, o *candidate.Option, n int, rate float64,
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
func (s *search) interruptedFleet(ctx context.Context, o *candidate.Option, n int, rate float64,
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
func (s *search) bind(o *candidate.Option, t *oracle.Trial) {
	p, _ := o.Interrupted()
	whole, binds := t.Keeps(), asked.Binding(t.Clauses)
	t.Kept, t.Target = binds.Kept, binds.Target
	if whole {
		t.Limit = p.Words(binds.Kept.Mean)
	}
}

// keepsOnSpotOver is keepsOnSpot over all of some seeds, each of which counts the same.
func (s *search) keepsOnSpotOver(ctx context.Context, o *candidate.Option, n int,
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
func (s *search) seedsBelow(n int) []uint64 {
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
func (s *search) alone(ctx context.Context, o *candidate.Option, wrong candidate.ErrorFactors,
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
func (s *search) sustainedAlone(ctx context.Context, o *candidate.Option,
	wrong candidate.ErrorFactors, seed uint64) (float64, error) {
	slower, alike := *o, *o.Parts
	slower.Parts, alike.Slow = &alike, wrong.Steps
	alike.Late = wrong.First
	slower.Ceiling = o.Ceiling * o.Slow / wrong.Steps
	r := &rateRange{option: o.Index, replicas: 1, kept: grid + 1, ceiling: slower.Ceiling}
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

// The length of the simulation in which the chosen fleet loses replicas at random: as many
// interruptions, unless those are so rare that they take more requests.
const (
	wantedInterruptions = 20
	mostInterrupted     = 200_000
)

// outages draws when n replicas or groups of a fleet, the first of it, are taken away within a
// time, in seconds. Replica k of a group of size in pools that follow each other goes with the
// others of its group.
func outages(o *candidate.Option, n int, within float64, seed uint64) []scenarios.Outage {
	p, _ := o.Interrupted()
	var list []scenarios.Outage
	for group, absences := range p.Draw(n, within, seed) {
		for _, a := range absences {
			for _, replica := range members(o, group, n) {
				list = append(list, scenarios.Outage{Replica: replica, At: span(a.From),
					For: span(max(a.To-a.From, 0.001))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b scenarios.Outage) int { return cmp.Compare(a.At, b.At) })
	return list
}

func span(seconds float64) scenarios.Span { return scenarios.Span(sim.Seconds(seconds)) }

// members returns the replicas of one of n groups, counted through all pools.
func members(o *candidate.Option, group, n int) []int {
	if o.Decode == nil {
		return []int{group}
	}
	var list []int
	prefills, decodes := int(o.Prefills), int(o.Decodes)
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
	p, taken := o.Interrupted()
	if !taken || s.rate == 0 || s.byPart(o, n) {
		return nil, nil
	}
	plan := &s.trials.File.Plan
	spot := n - o.Based()
	seconds := wantedInterruptions / (float64(spot) * p.Rate)
	requests := int64(math.Ceil(min(mostInterrupted, seconds*s.rate)))
	requests = max(requests, plan.Together(s.rate, n))
	seconds = float64(requests) / s.rate
	scenario := o.Scenario(&plan.Menu, n, 1)
	scenario.Fleet.Outages = outages(o, spot, seconds, plan.Seed)
	scenario.Fleet.Retries = 3
	i := &answer.Interrupted{Hours: seconds / 3600,
		Interruptions: len(scenario.Fleet.Outages) / len(members(o, 0, n))}
	t, err := s.trials.Trial(ctx, scenario, s.rate, requests)
	if err != nil {
		return nil, err
	}
	seeds := s.seedsBelow(s.few())
	expected, err := s.keepsOnSpotOver(ctx, o, n, candidate.AsPredicted(), seeds)
	if err != nil {
		return nil, err
	}
	i.Kept, i.Expected = t.All, expected.Kept.Mean
	fleet, err := s.interruptedFleet(ctx, o, n, s.rate, candidate.AsPredicted(), seeds[0])
	if err != nil {
		return nil, err
	}
	full, states, err := fleet.Judge(ctx)
	if err != nil {
		return nil, err
	}
	i.Months = oracle.Months
	i.Monthly, i.MonthlyLeast = fleet.OverMonths(states, &full, asked.BindingPart(full.Clauses),
		plan.Seed)
	return i, nil
}
