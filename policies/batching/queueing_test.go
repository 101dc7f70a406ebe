package batching_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// With prompts of one token and steps of constant length, a request is a job of as many steps as it
// has output tokens, and a policy is a queueing discipline.

// jobs is a source of requests; draw fills in all but the arrival.
type jobs struct {
	rng  *rand.Rand
	left int
	at   sim.Time
	rate float64 // arrivals a second
	draw func(rng *rand.Rand, r *sim.Request)
}

func (j *jobs) NextArrival() sim.Time {
	if j.left == 0 {
		return sim.Never
	}
	return j.at
}

func (j *jobs) Next(r *sim.Request) {
	j.left--
	*r = sim.Request{Arrival: j.at, Prompt: 1, Output: 1}
	j.draw(j.rng, r)
	j.at += sim.Seconds(j.rng.ExpFloat64() / j.rate)
}

func (j *jobs) Done(*sim.Request, sim.Time) {}
func (j *jobs) Err() error                  { return nil }

// server is a clock: a step takes a fixed time and one for each sequence in it.
type server struct{ step, sequence sim.Time }

func (c server) Duration(s *sim.Step) sim.Time {
	return c.step + c.sequence*sim.Time(s.Decodes+len(s.Prefill))
}

func (c server) Decode(n int, _ int64) sim.Affine {
	return sim.Affine{Base: c.step + c.sequence*sim.Time(n), Through: int64(sim.Never)}
}

// sojourns adds up the times in the system by class.
type sojourns struct {
	sim.NopObserver
	sum, n []float64
}

func (s *sojourns) Finished(q *sim.Sequence) {
	for len(s.n) <= q.Class {
		s.sum, s.n = append(s.sum, 0), append(s.n, 0)
	}
	s.sum[q.Class] += q.E2E().Seconds()
	s.n[q.Class]++
}

func (s *sojourns) mean(class int) float64 { return s.sum[class] / s.n[class] }

// failer is a test.
type failer interface {
	Helper()
	Fatal(...any)
}

// build makes a batching policy of the registry that runs the given number of sequences at once.
func build(t failer, name string, places int, params map[string]string) sim.Scheduler {
	t.Helper()
	r := policies.Default()
	p, err := r.Batching.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"max-sequences": fmt.Sprint(places)}
	for key, value := range params {
		all[key] = value
	}
	s, err := p.Build(policies.Deployment{KVTokens: 1 << 40, MaxContext: 1 << 30}, all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// simulate serves all jobs and reports to the observer.
func simulate(t failer, source sim.Source, s sim.Scheduler, clock sim.StepClock, o sim.Observer,
	maxLeap int64) {
	t.Helper()
	simulateDrafts(t, source, s, clock, nil, o, maxLeap)
}

// simulateDrafts is simulate with a speculator.
func simulateDrafts(t failer, source sim.Source, s sim.Scheduler, clock sim.StepClock,
	drafts sim.Speculator, o sim.Observer, maxLeap int64) {
	t.Helper()
	m, err := memory.NewPaged(1<<40, 16)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sim.Run(context.Background(), sim.Config{
		Source: source, Router: &routing.RoundRobin{}, Observer: o, MaxLeap: maxLeap,
		Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m, Clock: clock,
			Speculator: drafts}},
	}); err != nil {
		t.Fatal(err)
	}
}

const replications = 10

// run serves n jobs in each of several runs.
func run(t *testing.T, policy string, places, n int, rate float64, clock server,
	draw func(*rand.Rand, *sim.Request)) []sojourns {
	t.Helper()
	all := make([]sojourns, replications)
	for seed := range all {
		source := &jobs{rng: rand.New(rand.NewPCG(uint64(seed), 3)), left: n, rate: rate,
			draw: draw}
		simulate(t, source, build(t, policy, places, nil), clock, &all[seed], 0)
	}
	return all
}

// agree checks that the expected mean time of a class is in the 99.9 % confidence interval of the
// runs, which is no wider than 5 % on either side.
func agree(t *testing.T, what string, runs []sojourns, class int, want float64) {
	t.Helper()
	const student = 4.781 // 99.95 % quantile of Student's t with 9 degrees of freedom
	mean, squares := 0.0, 0.0
	for i := range runs {
		mean += runs[i].mean(class) / replications
	}
	for i := range runs {
		squares += math.Pow(runs[i].mean(class)-mean, 2)
	}
	half := student * math.Sqrt(squares/(replications-1)/replications)
	if math.Abs(mean-want) > half || half > 0.05*want {
		t.Errorf("%s: %.5f s ± %.5f s, want %.5f s", what, mean, half, want)
	}
}

// wait returns the mean wait of class k, served before the classes after it and not interrupted: W0
// / ((1−σ(k−1))·(1−σ(k))), σ(k) the load of classes up to k (Cobham, Operations Research 2, 1954,
// equation 3; for shortest job first, Phipps, Operations Research 4, 1956).
func wait(k int, rates, means, squares []float64) float64 {
	residual, before, upTo := 0.0, 0.0, 0.0
	for i := range rates {
		residual += rates[i] * squares[i] / 2
		if i < k {
			before += rates[i] * means[i]
		}
		if i <= k {
			upTo += rates[i] * means[i]
		}
	}
	return residual / ((1 - before) * (1 - upTo))
}

const step = 10 * sim.Millisecond

// Shortest job first is a priority queue by size.
func TestShortestJobFirstWaits(t *testing.T) {
	sizes := []float64{1, 4, 16, 64} // steps
	const rate = 3.5                 // of all; a load of 0.74
	draw := func(rng *rand.Rand, r *sim.Request) {
		r.Class = rng.IntN(4)
		r.Output = int(sizes[r.Class])
	}
	rates, means, squares := make([]float64, 4), make([]float64, 4), make([]float64, 4)
	for i, n := range sizes {
		rates[i], means[i] = rate/4, n*step.Seconds()
		squares[i] = means[i] * means[i]
	}
	runs := run(t, "sjf", 1, 160_000, rate, server{step: step}, draw)
	for k, n := range sizes {
		agree(t, fmt.Sprintf("jobs of %.0f steps", n), runs, k,
			means[k]+wait(k, rates, means, squares))
	}
}

// geometric draws a number of steps that is exponentially distributed but for rounding.
func geometric(rng *rand.Rand, mean float64) int {
	return 1 + int(rng.ExpFloat64()/-math.Log1p(-1/mean))
}

// Priorities without interruption follow Cobham.
func TestPriorityWaits(t *testing.T) {
	const mean, rate = 20.0, 3.5 // steps; a load of 0.7
	draw := func(rng *rand.Rand, r *sim.Request) {
		r.Class = rng.IntN(3)
		r.Priority = -r.Class
		r.Output = geometric(rng, mean)
	}
	d := step.Seconds()
	rates, means := []float64{rate / 3, rate / 3, rate / 3}, []float64{mean * d, mean * d, mean * d}
	square := (2*mean*mean - mean) * d * d
	runs := run(t, "priority", 1, 160_000, rate, server{step: step}, draw)
	for k := range rates {
		agree(t, fmt.Sprintf("class %d", k), runs, k,
			means[k]+wait(k, rates, means, []float64{square, square, square}))
	}
}

// Steps of constant length and c places are c servers: Erlang's C.
func TestBatchOfConstantStepsIsManyServers(t *testing.T) {
	const servers, mean = 8, 500.0
	d := sim.Millisecond
	service := mean * d.Seconds()
	const load = 0.85
	rate := load * servers / service
	term, sum := 1.0, 0.0
	for k := range servers {
		sum += term
		term *= load * servers / float64(k+1)
	}
	queued := term / (1 - load) / (sum + term/(1-load))
	want := service + queued*service/(servers*(1-load))
	runs := run(t, "vllm-v1", servers, 60_000, rate, server{step: d},
		func(rng *rand.Rand, r *sim.Request) { r.Output = geometric(rng, mean) })
	agree(t, "M/M/8", runs, 0, want)
}

// Steps as long as the batch is large are a shared processor: a job of x takes x/(1−ρ), whatever
// the others are (Kleinrock, JACM 14, 1967).
func TestBatchOfProportionalStepsIsASharedProcessor(t *testing.T) {
	const c, load = sim.Millisecond, 0.7
	sizes := []float64{100, 1000}
	rate := load / (550 * c.Seconds())
	draw := func(rng *rand.Rand, r *sim.Request) {
		r.Class = rng.IntN(2)
		r.Output = int(sizes[r.Class])
	}
	runs := run(t, "vllm-v1", 4000, 60_000, rate, server{sequence: c}, draw)
	for k, n := range sizes {
		agree(t, fmt.Sprintf("jobs of %.0f tokens", n), runs, k, n*c.Seconds()/(1-load))
	}
}

// The shorter come first, the shorter the mean: shortest remaining time, shortest job, first come,
// for the same jobs.
func TestOrderOfMeans(t *testing.T) {
	draw := func(rng *rand.Rand, r *sim.Request) { r.Output = geometric(rng, 30) }
	var runs [3][]sojourns
	for i, policy := range []string{"srtf", "sjf", "vllm-v1"} {
		runs[i] = run(t, policy, 1, 20_000, 2.7, server{step: step}, draw)
	}
	for seed := range replications {
		remaining, job, arrival := runs[0][seed].mean(0), runs[1][seed].mean(0),
			runs[2][seed].mean(0)
		if !(remaining < job && job < arrival) {
			t.Errorf("mean sojourn %.3f s for srtf, %.3f s for sjf, %.3f s in order of arrival",
				remaining, job, arrival)
		}
	}
}

// The feedback queue serves short answers sooner than the order of arrival does, without knowing
// them, and long ones later.
func TestFeedbackQueueFavoursShortAnswers(t *testing.T) {
	draw := func(rng *rand.Rand, r *sim.Request) {
		if r.Output = 5; rng.IntN(10) == 0 {
			r.Class, r.Output = 1, 500
		}
	}
	queues, arrival := run(t, "mlfq", 1, 20_000, 1.4, server{step: step}, draw),
		run(t, "vllm-v1", 1, 20_000, 1.4, server{step: step}, draw)
	for i := range queues {
		if short, before := queues[i].mean(0), arrival[i].mean(0); short > before/3 {
			t.Errorf("short answers take %.3f s, in order of arrival %.3f s; want a third at most",
				short, before)
		}
		if long, before := queues[i].mean(1), arrival[i].mean(1); long < before {
			t.Errorf("long answers take %.3f s, in order of arrival %.3f s; somebody must pay",
				long, before)
		}
	}
}
