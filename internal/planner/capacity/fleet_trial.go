package capacity

import (
	"context"

	"github.com/llmsim/llmsim/scenarios"
)

// simulate runs replicas of an option at the whole rate where predictions are wrong by some
// factors, with the plan's seed and others, and returns the scenario too.
func (s *search) simulate(ctx context.Context, o *option, replicas int, wrong off,
	seed uint64) (trial, *scenarios.File, error) {
	return s.simulateAt(ctx, o, replicas, s.rate, wrong, seed)
}

// mostDoubled bounds how often the simulation of a whole fleet is doubled in length.
const mostDoubled = 2

// simulateAt does so at another rate. While the SLO is kept and yet latencies seem to grow, which a
// short run may show by chance, the simulation is doubled in length.
func (s *search) simulateAt(ctx context.Context, o *option, replicas int, rate float64,
	wrong off, seed uint64) (t trial, file *scenarios.File, err error) {
	p := &s.trials.file.Plan
	scenario := o.scenario(&p.Menu, replicas, wrong.steps)
	scenario.Seed += seed
	scenario.Tokens = p.Tokens
	requests := p.Together(rate, replicas)
	for doubled := 0; ; doubled++ {
		if file, err = s.trials.file.file(scenario, rate, requests); err != nil {
			return trial{}, nil, err
		}
		t, err = s.trials.trial(ctx, scenario, rate, requests)
		t = t.under(wrong.first)
		enough := t.fills(rate)
		if err != nil || !t.Growing && requests >= enough || t.Kept.Mean < t.Target ||
			doubled == mostDoubled {
			return t, file, err
		}
		if requests = max(requests, enough); t.Growing {
			requests *= 2
		}
	}
}
