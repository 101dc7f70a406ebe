package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/horizon"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// jobGoal is the fleet that does a job in time for the least money.
type jobGoal struct {
	*search
	judge.Ordered[int]
	requests int64       // of the job
	all      []*jobFleet // the fleets that are in time, the cheapest first
}

func (*jobGoal) rules() []string {
	return []string{"a replica takes as long for each further request of the job as for the " +
		"requests of the first two simulations, within 10 %"}
}

func (s *jobGoal) show(_ context.Context, a *answer.Answer) error {
	for _, j := range s.all[:min(len(s.all), mostShapes)] {
		a.Jobs = append(a.Jobs, s.jobDone(j))
	}
	return nil
}

func (s *jobGoal) describe(ctx context.Context, a *answer.Answer) (err error) {
	a.Chosen, err = s.deployJob(ctx)
	return err
}

// find finds the fleet that does the job in time for the least money, each option with as few
// replicas as are in time. Options are tried in the order of the least that the job costs by their
// bounds, until that is more than the best.
func (s *jobGoal) find(ctx context.Context) error {
	s.best, s.outcomes, s.requests = -1, make([]outcome, len(s.options)), s.jobRequests()
	var order []int
	for i, o := range s.options {
		switch {
		case o.Unfit() != "":
			s.outcomes[i] = outcome{kind: unfit}
		case s.Allowed(o) < s.fewestInJob(o):
			s.outcomes[i] = outcome{kind: tooFew}
		default:
			s.outcomes[i] = outcome{kind: outdone}
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(s.leastForJob(a), s.leastForJob(b))
	})
	err := s.timeJobs(ctx, order)
	if err == nil && len(s.all) > 0 && s.Trials.File.Plan.Tunes() {
		err = s.tuneJob(ctx)
	}
	if err == nil && len(s.all) > 0 {
		err = s.addMeasured(ctx, order)
	}
	if err != nil || len(s.all) == 0 {
		return err
	}
	s.best = s.all[0].option
	s.outcomes[s.best] = outcome{kind: chosen, replicas: s.all[0].replicas}
	if s.tuned != nil {
		s.tuned.Settings = s.chosen().Settings()
	}
	return nil
}

// addMeasured adds the cheapest fleet that rests on measurements, unless one is known or the
// cheapest of all does.
func (s *jobGoal) addMeasured(ctx context.Context, order []int) error {
	best, all := candidate.Rank(evidence.Measured), s.all
	if candidate.Rank(s.options[all[0].option].Grade) <= best {
		return nil
	}
	s.all = nil
	for _, j := range all {
		if candidate.Rank(s.options[j.option].Grade) <= best {
			s.all = append(s.all, j)
		}
	}
	open := slices.DeleteFunc(slices.Clone(order), func(i int) bool {
		return s.outcomes[i].kind != outdone || candidate.Rank(s.options[i].Grade) > best
	})
	err := s.timeJobs(ctx, open)
	for _, j := range all {
		if !slices.Contains(s.all, j) {
			s.all = append(s.all, j)
		}
	}
	sortJobs(s.all)
	return err
}

// sortJobs sorts fleets, the cheapest first.
func sortJobs(all []*jobFleet) {
	slices.SortStableFunc(all, func(a, b *jobFleet) int {
		return cmp.Or(cmp.Compare(a.dollars, b.dollars), cmp.Compare(a.option, b.option))
	})
}

// timeJobs times options in an order, until the least that the job costs with one is more than the
// best of all that are known.
func (s *jobGoal) timeJobs(ctx context.Context, order []int) error {
	s.Open, s.AtOnce, s.MayWin = order, atOnce, s.mayCostLeast
	return judge.Search(ctx, s)
}

// mayCostLeast reports whether a job could cost the least with an option, and notes where it could
// not.
func (s *jobGoal) mayCostLeast(i int) bool {
	least := s.leastForJob(i)
	if len(s.all) == 0 || least < s.all[0].dollars {
		return true
	}
	s.outcomes[i].words = fmt.Sprintf("by the roofline the job costs %s at least",
		s.Currency().Cents(least))
	return false
}

// Try times the job with options.
func (s *jobGoal) Try(ctx context.Context, some []int) error {
	now := make([]*jobFleet, len(some))
	err := judge.Each(ctx, judge.Indices(len(some)), func(ctx context.Context, k int) error {
		now[k] = &jobFleet{option: some[k]}
		return s.timeJob(ctx, now[k])
	})
	if err != nil {
		return err
	}
	for _, fleet := range now {
		if fleet.replicas > 0 {
			s.all = append(s.all, fleet)
		}
	}
	sortJobs(s.all)
	return nil
}

// tuneJob times the cheapest fleets of a job with larger batches and chunks than the engine's, and
// a smaller cache, as tune does.
func (s *jobGoal) tuneJob(ctx context.Context) error {
	first, listed := s.all[0], len(s.options)
	s.tuned = &answer.Tuned{Without: s.label(first.option), WithoutReplicas: first.replicas,
		WithoutHourly: float64(first.replicas) * s.options[first.option].Price,
		WithoutJob:    first.dollars}
	var bases []int
	for _, j := range s.all[:min(len(s.all), mostTuned)] {
		bases = append(bases, j.option)
	}
	change := func(i int) ([]*candidate.Option, error) {
		return detail.ChangedFor(&s.Judge, s.options[i], metrics.TTFT)
	}
	t := &tuner{s.search}
	err := t.coordinateSearch(ctx, mostTuningTurns, bases, change, func(fresh []int,
		left func() bool) (next []int, err error) {
		s.tuned.Tried += len(fresh)
		before := s.all[0]
		err = s.timeJobs(ctx, fresh)
		if err == nil && s.all[0] != before && left() {
			next = []int{s.all[0].option}
		}
		return next, err
	})
	best := s.all[0]
	worth := best.dollars < first.dollars*(1-worthTuning)
	s.all = slices.DeleteFunc(s.all, func(j *jobFleet) bool {
		return j.option >= listed && !(worth && j == best)
	})
	return err
}

// The requests of the two simulations by which the time that a replica takes for each more request
// is known, and the most of the simulation of the whole job.
const (
	jobSample    = 4000
	mostInJob    = 300_000
	jobTolerance = 1e-9
	// mayWinJob is up to how many times the price of the best fleet a job may cost by the time of
	// one replica, so that the fleet is simulated: the two differ by a few percent.
	mayWinJob = 1.1
	// mostWaits is how often the hours of a job are chosen again because simulations took longer,
	// and sizesApart the number of replicas from which numbers are tried that are its share apart.
	mostWaits  = 8
	sizesApart = 32
)

// jobFleet is what is known of an option for a job: the time that a replica takes for each request,
// and a fixed time for the beginning and the end.
type jobFleet struct {
	option, replicas   int
	each, begin, total float64 // in seconds; total is how long the simulated fleet is paid for
	dollars            float64 // of the fleet until it is done
	longer             float64 // the share of time that interruptions add to the simulated time
	runs               []answer.JobRun
	slack              float64 // how many times the simulated time is in time
	atOnce             float64 // what the job costs without waiting for cheaper hours
}

// discount is what the job costs as a share of what it would at one price an hour of a replica.
func (j *jobFleet) discount(price float64) float64 {
	if j.runs == nil {
		return 1
	}
	hours := 0.0
	for _, r := range j.runs {
		hours += r.To - r.From
	}
	return j.dollars / (float64(j.replicas) * price * hours)
}

// jobRequests returns the number of requests of the job.
func (s *jobGoal) jobRequests() int64 {
	j := s.Trials.File.Plan.Job
	if l := s.load(); j.Requests == 0 && l != nil {
		each := (l.Prompt + l.Output) / l.Requests
		return max(1, int64(math.Ceil(float64(j.Tokens)/each)))
	}
	return max(1, j.Requests)
}

// times returns the seconds in which the job must be done and that each start takes.
func (s *jobGoal) times() (within, start float64) {
	j := s.Trials.File.Plan.Job
	return sim.Time(j.Within).Seconds(), sim.Time(j.Start).Seconds()
}

// prices returns what a replica costs in each hour of the job, or one price where all hours cost
// the same.
func (s *jobGoal) prices(o *candidate.Option) (list []float64) {
	if !slices.ContainsFunc(o.Offers(), (*asked.Offer).DiffersByHour) {
		return []float64{o.Price}
	}
	for h := range int(math.Ceil(sim.Time(s.Trials.File.Plan.Job.Within).Seconds() / 3600)) {
		list = append(list, o.PriceAt(s.Trials.File.Plan.Job.From+h))
	}
	return list
}

// paid returns what a replica costs from one hour of the job to another.
func paid(prices []float64, from, to float64) (sum float64) {
	if len(prices) == 1 {
		return prices[0] * (to - from)
	}
	for h, price := range prices {
		sum += float64(price * max(0, min(to, float64(h+1))-max(from, float64(h))))
	}
	return sum
}

// fewestInJob returns the least number of replicas that may be in time, by the bounds.
func (s *jobGoal) fewestInJob(o *candidate.Option) int {
	within, start := s.times()
	return max(1, int(math.Ceil(min(candidate.Unbounded,
		float64(s.requests)/o.Ceiling/(within-start)))))
}

// leastForJob returns the least that a job costs with option i, by its bounds.
func (s *jobGoal) leastForJob(i int) float64 {
	o := s.options[i]
	return slices.Min(s.prices(o)) * float64(s.requests) / o.Ceiling / 3600
}

// timeJob finds out how long a replica takes, and from that the number of replicas that are in
// time, if there are enough accelerators.
func (s *jobGoal) timeJob(ctx context.Context, j *jobFleet) error {
	o, outcome, requests := s.options[j.option], &s.outcomes[j.option], s.requests
	sample := min(requests, jobSample)
	t, err := s.Trials.Trial(ctx, o.Scenario(&s.Trials.File.Plan.Menu, 1, o.Slow), 0, sample)
	if err == nil && sample > 1 {
		var half judge.Trial
		half, err = s.Trials.Trial(ctx, o.Scenario(&s.Trials.File.Plan.Menu, 1, o.Slow), 0,
			sample/2)
		j.each = max(0, t.Seconds-half.Seconds) / float64(sample-sample/2)
	}
	if err = s.unlessBroken(j.option, err); err != nil || outcome.kind == broken {
		return err
	}
	outcome.kind = simulated
	j.begin = max(0, t.Seconds-j.each*float64(sample))
	if p, spot := o.Interrupted(); spot { // time away, and work that begins anew
		j.longer = float64(p.Rate * (p.Outage + t.Latencies["mean_e2el_ms"]/1000))
	}
	within, start := s.times()
	within = (within - start) / (1 + j.longer)
	prices := s.prices(o)
	most := min(int64(s.Allowed(o)), requests)
	n := int64(math.Ceil(j.each * float64(requests) / max(within-j.begin, jobTolerance)))
	n = max(1, min(n, most))
	about := slices.Min(prices) * (float64(n)*j.begin + j.each*float64(requests)) *
		(1 + j.longer) / 3600
	if len(s.all) > 0 && about > mayWinJob*s.all[0].dollars {
		outcome.words = "by the time of one replica the job costs more"
		return nil
	}
	for ; n <= most; n++ {
		total, err := s.wholeJob(ctx, o, int(n), requests)
		if err != nil {
			return s.unlessBroken(j.option, err)
		}
		if total > within && n == most {
			outcome.words = fmt.Sprintf("%d would take %.3g hours", most,
				(start+total*(1+j.longer))/3600)
		}
		if total <= within {
			j.replicas, j.slack = int(n), within/total
			j.total = start + float64(total*(1+j.longer))
			j.dollars = float64(n) * paid(prices, 0, j.total/3600)
			if j.atOnce = j.dollars; len(prices) > 1 {
				j.runs = []answer.JobRun{{To: j.total / 3600, Requests: requests}}
				if err := s.waitForHours(ctx, j, prices); err != nil {
					return s.unlessBroken(j.option, err)
				}
			}
			outcome.words = "the job costs " + s.Currency().Cents(j.dollars)
			outcome.replicas = j.replicas
			break
		}
	}
	return nil
}

// waitForHours lets a job run in the hours that cost least, if that costs less than at once.
//
// A fleet has the same number of replicas whenever it runs: replicas are paid for by the time that
// they are up, so that fewer of them for longer in an hour do the same work for the same price. A
// larger fleet fits into fewer, cheaper hours, but starts more often.
//
// The numbers of replicas and hours are chosen by the time of one replica. The fleet is then
// simulated in each stretch by itself, with the stretch's share of the requests; where that takes
// longer than there is time, the choice is made again with requests that take so much longer.
func (s *jobGoal) waitForHours(ctx context.Context, j *jobFleet, prices []float64) error {
	o := s.options[j.option]
	within, start := s.times()
	slower := 1 + j.longer
	for range mostWaits {
		requests, begin := float64(s.requests)*j.each*slower/3600, (start+j.begin*slower)/3600
		var best []horizon.Stretch
		cost, replicas := j.dollars, 0
		for n := 1; n <= min(s.Allowed(o), int(s.requests)); n += max(1, n/sizesApart) {
			if float64(n)*paid(slices.Sorted(slices.Values(prices)), 0,
				begin+requests/float64(n)) >= cost*(1-jobTolerance) {
				if begin+requests/float64(n) <= 1 {
					break // more replicas start more often, for the same work
				}
				continue
			}
			p := horizon.Pausing{Prices: prices, Within: within / 3600,
				Work: requests / float64(n), Start: begin}
			if runs, each := p.Cheapest(); runs != nil && each*float64(n) < cost*(1-jobTolerance) {
				best, cost, replicas = runs, each*float64(n), n
			}
		}
		if best == nil {
			return nil
		}
		fleet := jobFleet{slack: math.Inf(1), replicas: replicas}
		done, left := 0.0, s.requests
		for i, r := range best {
			done += r.To - r.From - begin
			share := int64(math.Round(done / (requests / float64(replicas)) * float64(s.requests)))
			run := answer.JobRun{From: r.From, Requests: share - (s.requests - left)}
			left -= run.Requests
			seconds, err := s.wholeJob(ctx, o, replicas, max(1, run.Requests))
			if err != nil {
				return err
			}
			seconds *= 1 + j.longer
			run.To = run.From + (start+seconds)/3600
			until := within / 3600
			if i+1 < len(best) {
				until = best[i+1].From
			}
			fleet.runs = append(fleet.runs, run)
			fleet.slack = min(fleet.slack, ((until-run.From)*3600-start)/seconds)
			fleet.dollars += float64(replicas) * paid(prices, run.From, run.To)
		}
		if fleet.slack >= 1 {
			if fleet.dollars < j.dollars {
				j.replicas, j.dollars, j.runs, j.slack = replicas, fleet.dollars, fleet.runs,
					fleet.slack
				j.total = 3600 * fleet.runs[len(fleet.runs)-1].To
			}
			return nil
		}
		slower /= fleet.slack
	}
	return nil
}

// wholeJob returns the seconds that n replicas take for a number of requests, or for as many as
// mostInJob, times the share.
func (s *jobGoal) wholeJob(ctx context.Context, o *candidate.Option, n int,
	requests int64) (float64, error) {
	simulated := min(requests, mostInJob)
	t, err := s.Trials.Trial(ctx, o.Scenario(&s.Trials.File.Plan.Menu, n, o.Slow), 0, simulated)
	if err != nil {
		return 0, err
	}
	return t.Seconds * float64(requests) / float64(simulated), nil
}

// jobDone returns the time and the price of the job with an option.
func (s *jobGoal) jobDone(j *jobFleet) answer.JobDone {
	l, requests := s.load(), s.requests
	tokens := float64(requests) * (l.Prompt + l.Output) / l.Requests
	o := s.options[j.option]
	inTime, _ := o.Grade.Supported(o.Physics.Steps.Below(o.Slow*j.slack), false)
	return answer.JobDone{Grade: o.Grade, InTime: inTime,
		Label: s.label(j.option), Replicas: j.replicas, Requests: requests,
		Hours: j.total / 3600, Interruptions: j.longer, Dollars: j.dollars,
		PerMillion: j.dollars / tokens * 1e6, Runs: j.runs, From: s.Trials.File.Plan.Job.From,
		AtOnce: j.atOnce}
}

// deployJob simulates the chosen fleet with the whole job, or as much of it as mostInJob, with
// steps as predicted.
func (s *jobGoal) deployJob(ctx context.Context) (*answer.Deployment, error) {
	o, n := s.chosen(), s.size()
	scenario := o.Scenario(&s.Trials.File.Plan.Menu, n, 1)
	requests := min(s.requests, mostInJob)
	t, err := s.Trials.Trial(ctx, scenario, 0, requests)
	if err != nil {
		return nil, err
	}
	file, err := s.Trials.File.File(scenario, 0, s.requests)
	if err != nil {
		return nil, err
	}
	d, err := s.fleet().Deployment(file, t, t)
	if err == nil {
		d.JobHours = t.Seconds / 3600
		d.JobShare = float64(requests) / float64(s.requests)
		d.PerMillion *= s.all[0].discount(o.Price)
	}
	return d, err
}
