package capacity

import (
	"context"
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/sim"
)

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
	each, begin, total float64 // in seconds; total is that of the fleet
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
		var half oracle.Trial
		half, err = s.Trials.Trial(ctx, o.Scenario(&s.Trials.File.Plan.Menu, 1, o.Slow), 0,
			sample/2)
		j.each = max(0, t.Seconds-half.Seconds) / float64(sample-sample/2)
	}
	if words, failed := oracle.Failure(err); failed {
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
	return answer.JobDone{Grade: o.Grade, InTime: o.Physics.Steps.Below(o.Slow * within / j.total),
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
