package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/changes"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// jobGoal is the fleet that does a job in time for the least money.
type jobGoal struct{ all []*jobFleet }

func (g *jobGoal) find(ctx context.Context, s *search) (err error) {
	g.all, err = s.doJob(ctx)
	return err
}

func (*jobGoal) rules(*search) []string {
	return []string{"a replica takes as long for each further request of the job as for those of " +
		"the two simulations"}
}

func (g *jobGoal) show(_ context.Context, s *search, a *answer.Answer) error {
	for _, j := range g.all[:min(len(g.all), mostShapes)] {
		a.Jobs = append(a.Jobs, s.jobDone(j))
	}
	return nil
}

func (*jobGoal) describe(ctx context.Context, s *search, a *answer.Answer) (err error) {
	a.Chosen, err = s.deployJob(ctx)
	return err
}

// doJob finds the fleet that does the job in time for the least money, each option with as few
// replicas as are in time. Options are tried in the order of the least that the job costs by their
// bounds, until that is more than the best.
func (s *search) doJob(ctx context.Context) ([]*jobFleet, error) {
	s.best, s.outcomes = -1, make([]outcome, len(s.options))
	requests := s.jobRequests()
	var order []int
	for i, o := range s.options {
		switch {
		case o.Unfit() != "":
			s.outcomes[i] = outcome{kind: unfit}
		case s.Allowed(o) < s.fewestInJob(o, requests):
			s.outcomes[i] = outcome{kind: tooFew}
		default:
			s.outcomes[i] = outcome{kind: outdone}
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(s.leastForJob(a, requests), s.leastForJob(b, requests))
	})
	all, err := s.timeJobs(ctx, order, requests, nil)
	if err == nil && len(all) > 0 {
		all, err = s.tuneJob(ctx, all, requests)
	}
	if err == nil && len(all) > 0 {
		all, err = s.withMeasured(ctx, order, requests, all)
	}
	if err != nil || len(all) == 0 {
		return nil, err
	}
	s.best = all[0].option
	s.outcomes[s.best] = outcome{kind: chosen, replicas: all[0].replicas}
	if s.tuned != nil {
		s.tuned.Settings = s.chosen().Settings()
	}
	return all, nil
}

// withMeasured adds the cheapest fleet that rests on measurements, unless one is known or the
// cheapest of all does.
func (s *search) withMeasured(ctx context.Context, order []int, requests int64,
	all []*jobFleet) ([]*jobFleet, error) {
	best := candidate.Rank(evidence.Measured)
	if candidate.Rank(s.options[all[0].option].Grade) <= best {
		return all, nil
	}
	var known []*jobFleet
	for _, j := range all {
		if candidate.Rank(s.options[j.option].Grade) <= best {
			known = append(known, j)
		}
	}
	open := slices.DeleteFunc(slices.Clone(order), func(i int) bool {
		return s.outcomes[i].kind != outdone || candidate.Rank(s.options[i].Grade) > best
	})
	measured, err := s.timeJobs(ctx, open, requests, known)
	for _, j := range measured {
		if !slices.Contains(all, j) {
			all = append(all, j)
		}
	}
	sortJobs(all)
	return all, err
}

// sortJobs sorts fleets, the cheapest first.
func sortJobs(all []*jobFleet) {
	slices.SortStableFunc(all, func(a, b *jobFleet) int {
		return cmp.Or(cmp.Compare(a.dollars, b.dollars), cmp.Compare(a.option, b.option))
	})
}

// timeJobs times options in an order, until the least that the job costs with one is more than the
// best of all that are known, and returns all fleets that are in time, the cheapest first.
func (s *search) timeJobs(ctx context.Context, order []int, requests int64,
	all []*jobFleet) ([]*jobFleet, error) {
	j := &jobs{search: s, requests: requests, all: all}
	j.Open, j.AtOnce, j.MayWin = order, atOnce, j.mayWin
	err := strategy.Search(ctx, j)
	return j.all, err
}

// jobs is options in the order of the least that a job could cost with them.
type jobs struct {
	*search
	strategy.Ordered[int]
	requests int64
	all      []*jobFleet // that are in time, the cheapest first
}

// mayWin reports whether a job could cost the least with an option, and notes where it could not.
func (j *jobs) mayWin(i int) bool {
	least := j.leastForJob(i, j.requests)
	if len(j.all) == 0 || least < j.all[0].dollars {
		return true
	}
	j.outcomes[i].words = fmt.Sprintf("by the roofline the job costs %s at least",
		j.Currency().Cents(least))
	return false
}

// Try times the job with options.
func (j *jobs) Try(ctx context.Context, some []int) error {
	now := make([]*jobFleet, len(some))
	err := judge.Each(ctx, judge.Indices(len(some)), func(ctx context.Context, k int) error {
		now[k] = &jobFleet{option: some[k]}
		return j.timeJob(ctx, now[k], j.requests)
	})
	if err != nil {
		return err
	}
	for _, fleet := range now {
		if fleet.replicas > 0 {
			j.all = append(j.all, fleet)
		}
	}
	sortJobs(j.all)
	return nil
}

// tuneJob times the cheapest fleets of a job with larger batches and chunks than the engine's, and
// a smaller cache, as tune does.
func (s *search) tuneJob(ctx context.Context, all []*jobFleet,
	requests int64) ([]*jobFleet, error) {
	if !s.Trials.File.Plan.Tunes() {
		return all, nil
	}
	first, listed := all[0], len(s.options)
	s.tuned = &answer.Tuned{Without: s.label(first.option), WithoutReplicas: first.replicas,
		WithoutHourly: float64(first.replicas) * s.options[first.option].Price,
		WithoutJob:    first.dollars}
	var bases []int
	for _, j := range all[:min(len(all), mostTuned)] {
		bases = append(bases, j.option)
	}
	change := func(i int) ([]*candidate.Option, error) {
		return changes.ChangedFor(&s.Judge, s.options[i], metrics.TTFT)
	}
	err := s.inTurns(ctx, bases, change, func(fresh []int, left func() bool) (next []int,
		err error) {
		s.tuned.Tried += len(fresh)
		before := all[0]
		all, err = s.timeJobs(ctx, fresh, requests, all)
		if err == nil && all[0] != before && left() {
			next = []int{all[0].option}
		}
		return next, err
	})
	if err != nil {
		return nil, err
	}
	worth := all[0].dollars < first.dollars*(1-worthTuning)
	return slices.DeleteFunc(all, func(j *jobFleet) bool {
		return j.option >= listed && !(worth && j == all[0])
	}), nil
}
