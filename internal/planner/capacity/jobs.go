package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
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
	err := judge.Search(ctx, j)
	return j.all, err
}

// jobs is options in the order of the least that a job could cost with them.
type jobs struct {
	*search
	judge.Ordered[int]
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
		return detail.ChangedFor(&s.Judge, s.options[i], metrics.TTFT)
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

// The requests of the two simulations by which the time that a replica takes for each more request
// is known, and the most of the simulation of the whole job.
const (
	jobSample    = 4000
	mostInJob    = 300_000
	jobTolerance = 1e-9
)

// jobFleet is what is known of an option for a job: the time that a replica takes for each request,
// and a fixed time for the beginning and the end.
type jobFleet struct {
	option, replicas   int
	each, begin, total float64 // in seconds; total is the whole fleet's
	dollars            float64 // of the fleet until it is done
}

// seconds returns the time that n replicas take for a number of requests.
func (j *jobFleet) seconds(requests int64, n int) float64 {
	return j.begin + float64(j.each*math.Ceil(float64(requests)/float64(n)))
}

// jobRequests returns the number of requests of the job.
func (s *search) jobRequests() int64 {
	j := s.Trials.File.Plan.Job
	if l := s.load(); j.Requests == 0 && l != nil {
		each := (l.Prompt + l.Output) / l.Requests
		return max(1, int64(math.Ceil(float64(j.Tokens)/each)))
	}
	return max(1, j.Requests)
}

// fewestInJob returns the least number of replicas that may be in time, by the bounds.
func (s *search) fewestInJob(o *candidate.Option, requests int64) int {
	within := sim.Time(s.Trials.File.Plan.Job.Within).Seconds()
	return max(1, int(math.Ceil(min(candidate.Unbounded, float64(requests)/o.Ceiling/within))))
}

// leastForJob returns the least that a job costs with option i, by its bounds.
func (s *search) leastForJob(i int, requests int64) float64 {
	o := s.options[i]
	return o.Price * float64(requests) / o.Ceiling / 3600
}

// timeJob finds out how long a replica takes, and from that the number of replicas that are in
// time, if there are enough accelerators.
func (s *search) timeJob(ctx context.Context, j *jobFleet, requests int64) error {
	o, outcome := s.options[j.option], &s.outcomes[j.option]
	sample := min(requests, jobSample)
	t, err := s.Trials.Trial(ctx, o.Scenario(&s.Trials.File.Plan.Menu, 1, o.Slow), 0, sample)
	if err == nil && sample > 1 {
		var half judge.Trial
		half, err = s.Trials.Trial(ctx, o.Scenario(&s.Trials.File.Plan.Menu, 1, o.Slow), 0,
			sample/2)
		j.each = max(0, t.Seconds-half.Seconds) / float64(sample-sample/2)
	}
	if words, failed := judge.Failure(err); failed {
		outcome.kind, outcome.words = broken, words
		return nil
	}
	if err != nil {
		return err
	}
	outcome.kind = simulated
	j.begin = max(0, t.Seconds-j.each*float64(sample))
	if p, taken := o.Interrupted(); taken { // time away, and work that begins anew
		j.each *= 1 + float64(p.Rate*(p.Away+t.Latencies["mean_e2el_ms"]/1000))
	}
	within := sim.Time(s.Trials.File.Plan.Job.Within).Seconds()
	most := min(int64(s.Allowed(o)), requests)
	n := int64(math.Ceil(j.each * float64(requests) / max(within-j.begin, jobTolerance)))
	for n = max(1, n); n <= most && j.seconds(requests, int(n)) > within; n++ {
	}
	if n > most {
		outcome.words = fmt.Sprintf("%d would take %.3g hours", most,
			j.seconds(requests, int(most))/3600)
		return nil
	}
	j.replicas = int(n)
	j.total = j.seconds(requests, j.replicas)
	j.dollars = float64(j.replicas) * o.Price * j.total / 3600
	outcome.words, outcome.replicas = "the job costs "+s.Currency().Cents(j.dollars), j.replicas
	return nil
}

// jobDone returns the time and the price of the job with an option.
func (s *search) jobDone(j *jobFleet) answer.JobDone {
	requests := s.jobRequests()
	l := s.load()
	tokens := float64(requests) * (l.Prompt + l.Output) / l.Requests
	o, within := s.options[j.option], sim.Time(s.Trials.File.Plan.Job.Within).Seconds()
	inTime, _ := o.Grade.Supported(o.Physics.Steps.Below(o.Slow * within / j.total))
	return answer.JobDone{Grade: o.Grade, InTime: inTime,
		Label: s.label(j.option), Replicas: j.replicas, Requests: requests,
		Hours: j.total / 3600, Dollars: j.dollars, PerMillion: j.dollars / tokens * 1e6}
}

// deployJob simulates the chosen fleet with the whole job, or as much of it as mostInJob, with
// steps as predicted.
func (s *search) deployJob(ctx context.Context) (*answer.Deployment, error) {
	o, n := s.chosen(), s.size()
	scenario := o.Scenario(&s.Trials.File.Plan.Menu, n, 1)
	requests := min(s.jobRequests(), mostInJob)
	t, err := s.Trials.Trial(ctx, scenario, 0, requests)
	if err != nil {
		return nil, err
	}
	file, err := s.Trials.File.File(scenario, 0, s.jobRequests())
	if err != nil {
		return nil, err
	}
	d, err := s.fleet().Deployment(file, t, t)
	if err == nil {
		d.JobHours = t.Seconds / 3600
		d.JobShare = float64(requests) / float64(s.jobRequests())
	}
	return d, err
}
