package judge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

const steadyPlan = `
model: llama-3.1-8b
workload: {rate: 95/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu:
  hardware: [l40s, {accelerator: l40s, term: spot, price: $1/h, interruptions: 36/h,
    notice: 2m, return: 2m}]
  tensor: [1]
effort: {requests: 200, most-requests: 400}
`

const wavePlan = `
model: llama-3.1-8b
workload: {rate: {pattern: wave, average: 10/s, swing: 0.5, period: 20m}, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu: {hardware: [l40s], tensor: [1], scaling: [{policy: outstanding, target: 6, min: 2}]}
effort: {requests: 200, most-requests: 400}
`

// stub answers simulations by a law, without simulating, and remembers what was asked.
type stub struct {
	mu     sync.Mutex
	trials *Trials
	err    error
	asked  []scenarios.Scenario
}

// replicas is the number of replicas of a scenario's fleet.
func replicas(s *scenarios.Scenario) int {
	if len(s.Fleet.Pools) > 0 {
		return s.Fleet.Pools[0].Replicas
	}
	return max(1, s.Replicas)
}

// each is what one replica serves at the predicted pace, in requests/s, by the stub's first law.
const each = 10

// byCapacity is a law: all requests keep the SLO where replicas serve the rate, else none.
func byCapacity(s *scenarios.Scenario) Trial {
	load := float64(s.Workload.Rate.Value) * s.Engine.Slowdown
	if load > float64(each*replicas(s)) {
		return run(0, 0)
	}
	return run(1, 0)
}

// stubbed returns a judge of a plan whose simulations are answered by a law, and its options, of
// which a replica costs $2/h.
func stubbed(t *testing.T, text string, overrides ...string) (*Judge, []*candidate.Option, *stub) {
	t.Helper()
	f, err := asked.Parse("plan.yaml", []byte(text), overrides...)
	testkit.OK(t, err)
	options, err := candidate.Options(f)
	testkit.OK(t, err)
	for _, o := range options {
		o.Slow, o.Late, o.Ceiling, o.Least, o.Price = 1, asked.LateBy(1), 20, 1, 2
		for _, s := range o.Servers() {
			s.Price = 2
		}
	}
	law := &stub{trials: &Trials{File: f, Clocks: scenarios.NewClocks()}}
	law.obey(t, byCapacity)
	return &Judge{Rate: f.Plan.Peak(), Seeds: MostSeeds, Trials: law.trials}, options, law
}

// obey answers by another law from now on, whatever was asked before.
func (s *stub) obey(t *testing.T, law func(s *scenarios.Scenario) Trial) {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Config{Workers: 1}, queue.Handlers{Kind: func(
		_ context.Context, f *scenarios.File, _ string) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, f.Scenario)
		return law(&f.Scenario), s.err
	}})
	testkit.OK(t, err)
	t.Cleanup(q.Close)
	s.trials.Queue, s.asked = q, nil
	s.trials.Ledger = &Ledger{Known: map[string]*Entry{}}
}

// seeds lists the seeds of the simulations in order.
func (s *stub) seeds() []uint64 {
	var list []uint64
	for i := range s.asked {
		list = append(list, s.asked[i].Seed)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// steady is a run of which the given share keeps the SLO for sure, and where a request takes a
// second.
func steady(mean float64) Trial {
	t := run(mean, 0)
	t.Latencies = map[string]float64{"mean_e2el_ms": 1000}
	return t
}

// A simulation that is refused ends every decision with its error.
func TestRefusedSimulationsAreErrors(t *testing.T) {
	ctx, none := t.Context(), candidate.AsPredicted()
	for _, text := range []string{steadyPlan, wavePlan} {
		j, options, law := stubbed(t, text)
		law.err = scenarios.BadInput(errors.New("refused"))
		for _, o := range options {
			for name, f := range map[string]func() error{
				"Keeps":  func() error { _, _, err := j.Keeps(ctx, o, 3, none, 4); return err },
				"Decide": func() error { _, err := j.Decide(ctx, o, 3, none); return err },
				"Enough": func() error { _, err := j.Enough(ctx, o, 3); return err },
				"Alone":  func() error { _, err := j.Alone(ctx, o, none, 0); return err },
				"Sustains": func() error {
					_, err := j.Sustains(ctx, o, 3, 5)
					return err
				},
				"MeanRunning": func() error {
					_, _, err := j.MeanRunning(ctx, o, 3, 2)
					return err
				},
				"on spot": func() error {
					_, err := j.KeepsOnSpotOver(ctx, o, 3, none, []uint64{0})
					return err
				},
			} {
				if err := f(); err == nil {
					t.Errorf("%s of %s has no error", name, o.Shape())
				}
			}
		}
	}
}

// All of a list is tried, and its first error returned.
func TestEach(t *testing.T) {
	var mu sync.Mutex
	sum, refused := 0, errors.New("refused")
	err := Each(t.Context(), Indices(5), func(_ context.Context, k int) error {
		mu.Lock()
		defer mu.Unlock()
		if sum += k; k == 3 {
			return refused
		}
		return nil
	})
	if sum != 10 || !errors.Is(err, refused) {
		t.Errorf("the sum is %d, the error %v", sum, err)
	}
}
