package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// togetherSeeds is the number of draws of the load with which fleets of several kinds are simulated
// as one.
const togetherSeeds = 3

// keepsTogether simulates a fleet of several kinds with several draws of the load, where latencies
// are late by some factors. It returns the least share of requests that keep the SLO, below 0 where
// one of the draws misses it, and the number of requests.
func keepsTogether(ctx context.Context, t *judge.Trials, s scenarios.Scenario, size int,
	rate float64, late asked.Late) (kept float64, requests int64, err error) {
	kept = 1
	seed := s.Seed
	for draw := range uint64(togetherSeeds) {
		s.Seed = seed + draw
		run, n, err := t.Fleet(ctx, s, size, rate, late, 0)
		if err != nil || !run.Keeps() {
			return -1, 0, err
		}
		requests, kept = n, min(kept, run.All)
	}
	return kept, requests, nil
}

// explained returns the text of a scenario at a rate, with all that it leaves to defaults.
func explained(f *asked.File, s scenarios.Scenario, rate float64, requests int64) (string, error) {
	file, err := f.File(s, rate, requests)
	if err != nil {
		return "", err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return "", err
	}
	defer simulation.Source.Close()
	text, err := simulation.Explain()
	return string(text), err
}

// ofTwo returns the scenario of a fleet of some replicas of two options, whose steps are slow, or
// as predicted. Where requests go to replicas in turn, they do so by weight.
func ofTwo(m *asked.Menu, options []*candidate.Option, replicas [2]int, weight float64,
	slow bool) (all scenarios.Scenario) {
	for k, o := range options {
		steps := 1.0
		if slow {
			steps = o.Slow
		}
		part := o.Scenario(m, 1, steps)
		if k == 0 {
			all = part
			if p := &all.Routing; p.Policy == "" || p.Policy == "round-robin" {
				*p = scenarios.Policy{Policy: "weighted"}
			}
		}
		for _, pool := range part.AsPools() {
			pool.Name, pool.Replicas = [...]string{"older", "newer"}[k], replicas[k]
			if k > 0 && all.Routing.Policy == "weighted" {
				pool.Weight = weight
			}
			if pool.Replicas > 0 {
				all.Fleet.Pools = append(all.Fleet.Pools, pool)
			}
		}
	}
	return all
}
