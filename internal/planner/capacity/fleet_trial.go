package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/scenarios"
)

// simulate runs replicas of an option at the whole rate where predictions are wrong by some
// factors, with the plan's seed and others, and returns the number of requests of the scenario too.
func (s *search) simulate(ctx context.Context, o *candidate.Option, replicas int, wrong candidate.ErrorFactors,
	seed uint64) (trial, int64, error) {
	return s.simulateAt(ctx, o, replicas, s.rate, wrong, seed)
}

// mostDoubled bounds how often the simulation of a whole fleet is doubled in length. Where answers
// take minutes, as those of the plan decode-heavy, half of the runs seem to grow after two.
const mostDoubled = 4

// simulateAt does so at another rate.
func (s *search) simulateAt(ctx context.Context, o *candidate.Option, replicas int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (trial, int64, error) {
	p := &s.trials.file.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	scenario.Seed += seed
	scenario.Tokens = p.Tokens
	return s.trials.fleet(ctx, scenario, replicas, rate, wrong.First)
}

// fleet simulates a fleet, or the part that stands for it, for as long as one of that many replicas
// is, where TTFT is late times what is predicted. While the SLO is kept and yet latencies seem to
// grow, which a short run may show by chance, the simulation is doubled in length. Of a run that
// misses the SLO, the share of requests that keep it tells enough, so that one in which queues are
// long by chance counts like others.
func (t *trials) fleet(ctx context.Context, scenario scenarios.Scenario, replicas int,
	rate, late float64) (run trial, requests int64, err error) {
	scenario, rate = t.part(scenario, rate)
	p := &t.file.Plan
	requests = p.Together(rate, replicas)
	for doubled := 0; ; doubled++ {
		run, err = t.trial(ctx, scenario, rate, requests)
		run = run.under(late)
		enough := run.fills(rate)
		if err != nil || !run.Growing && requests >= enough || run.Kept.Mean < run.Target ||
			doubled == mostDoubled {
			run.Growing = run.Growing && run.Kept.Mean >= run.Target
			return run, p.Put(scenario.Workload, rate, requests).Requests, err
		}
		if requests = max(requests, enough); run.Growing {
			requests *= 2
		}
	}
}
