package scenarios

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// Build prepares the scenario to run. It looks up names, fills in defaults, and checks all that can
// be checked before the first request. The error is an InputError if the scenario is wrong.
func (f *File) Build(registry *policies.Registry) (*Simulation, error) {
	r, err := resolve(f, registry)
	if err != nil {
		return nil, err
	}
	a := r.assemble()
	if err := r.err(); err != nil {
		return nil, err
	}
	complete := r.scenario()
	r.checkCurrency(&complete, a.pools)
	kept := r.snapshot()
	if err := r.err(); err != nil {
		return nil, err
	}
	if kept != nil {
		r.demand.config.Before = int64(kept.runs()) << 27
	}
	if u := r.demand.config.Users; u != nil && r.demand.workload.Arrivals.Start == "equilibrium" {
		u.Cycle = cycle(a.pools, u.Count)
	}
	source, err := workload.Open(r.demand.config)
	if err != nil {
		r.problem("workload", "%v", err)
		return nil, r.err()
	}
	a.config.Source = source
	a.config.SampleEvery = sampleEvery(source.Summary(), longestStep(a.pools), r.fleet.replicas)
	summed := r.demand.metrics()
	a.config.Classes = len(summed.Classes)
	if n := len(summed.Tenants); n > 0 {
		a.config.Tenants = n + 1 // the last has those without a name
	}
	first := a.pools[0]
	s := &Simulation{
		Scenario: complete, Warnings: r.warnings, Source: source,
		Model: first.Model, Accelerator: *first.Accelerator, Engine: first.Engine,
		Memory: first.Plan,
		given:  f.givenOrTier, pools: a.pools, speculators: a.speculators, config: a.config,
		shared:  a.shared.pools,
		metrics: summed,
	}
	err = r.fill(s, kept, func() (*Simulation, error) {
		cold := *f
		cold.Scenario.Caches = nil
		return cold.Build(registry)
	})
	if err != nil {
		s.Source.Close()
		return nil, err
	}
	if slices.ContainsFunc(s.pools, comparesDrafts) {
		s.baseline = func() (*Simulation, error) { return f.without(s.Scenario).Build(registry) }
	}
	return s, nil
}

// comparesDrafts reports whether a pool drafts and asks for a comparison with decoding without
// drafts.
func comparesDrafts(p pool) bool { return p.drafter != nil && p.s.Speculation.Baseline != "skip" }

// without returns a scenario whose defaults are filled in, without speculative decoding but on the
// same accelerators.
func (f *File) without(drafts Scenario) *File {
	plain := *f
	plain.Scenario = drafts
	plain.Scenario.Speculation = nil
	plain.Scenario.Fleet.Pools = slices.Clone(drafts.Fleet.Pools)
	for i := range plain.Scenario.Fleet.Pools {
		plain.Scenario.Fleet.Pools[i].Speculation = nil
	}
	return &plain
}

// longestStep returns about how long a small step takes in the slowest pool.
func longestStep(pools []pool) sim.Time {
	var longest sim.Time
	for i := range pools {
		p := &pools[i]
		step := sim.Seconds(p.Plan.Weights / p.Accelerator.Bandwidth)
		if given := p.s.Steps; given != nil {
			step = sim.Time(max(given.Prefill.Step, given.Decode.Step))
		}
		longest = max(longest, step)
	}
	return longest
}

// sampleEvery returns the time between two samples of the state of that many replicas. If the
// length of the run is known, it gives some thousands of samples, fewer in large fleets, and not
// many more than there are steps. So sampling takes a small part of the time.
func sampleEvery(load workload.Summary, step sim.Time, replicas int) sim.Time {
	const most, least, states, perStep = 2000, 128, 128_000, 10
	samples := max(min(most, states/replicas), least)
	every := 200 * sim.Millisecond
	switch {
	case load.Duration > 0:
		every = load.Duration / sim.Time(samples)
	case load.Requests > 0 && load.Rate > 0:
		every = sim.Seconds(float64(load.Requests) / load.Rate / float64(samples))
	}
	return max(min(max(every, 10*sim.Millisecond), sim.Seconds(60)), step/perStep)
}

// givenOrTier reports whether the scenario sets the field, itself or by a tier.
func (f *File) givenOrTier(field string) bool {
	return f.given(field) || f.Scenario.Memory.tierField(field) != ""
}

// Run builds the scenario and simulates it: Build, then Simulation.Run.
func (f *File) Run(ctx context.Context, registry *policies.Registry,
	observers ...sim.Observer) (*Result, error) {
	s, err := f.Build(registry)
	if err != nil {
		return nil, err
	}
	return s.Run(ctx, observers...)
}
