package scenarios

import (
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/lengths"
)

// server is what the replicas of a pool have in common: a model on accelerators, under policies.
type server struct {
	s Scenario // as the pool sees it: with the pool's own sections in place of those at the top
	deployment.Server
	drafting drafting
}

// builder readies a server. It fills the defaults into s as it goes.
type builder struct {
	*notes
	server
	registry *policies.Registry
	own      string // where the pool's own sections stand; empty where it has none
	label    string // the pool's name, where there are others
	catalog  hardware.Catalog
}

// fleetBuilder turns a scenario into something that runs: its pools, what goes on between them, and who asks. It fills the
// defaults into s as it goes.
type fleetBuilder struct {
	*notes
	registry *policies.Registry
	s        Scenario
	pools    []pool
	builders []*builder     // of the pools; those without sections of their own share one
	models   []string       // by sim.Request.Model
	tenants  []string       // by sim.Request.Tenant
	tenant   map[string]int // the number of a tenant, by name
	// distributions holds those of lengths by their description, lengthEntries the size of all.
	distributions map[Length]*lengths.Distribution
	lengthEntries int
	speculators   []*speculation.Speculator // by replica; nil for those that do not draft
}

// Build readies the scenario to run: names are looked up, defaults filled in, and all is checked that can be before the first
// request. What is wrong is an InputError.
func (f *File) Build(registry *policies.Registry) (*Simulation, error) {
	fleet := newFleetBuilder(f, registry)
	fleet.each((*builder).lookUp, (*builder).choosePolicies, (*builder).fit, (*builder).startClock, (*builder).startDrafter)
	fleet.then(fleet.agree)
	if err := fleet.err(); err != nil {
		return nil, err
	}
	fleet.settle()
	s := &Simulation{Source: fleet.openSource()}
	if err := fleet.err(); err != nil {
		return nil, err
	}
	s.config = sim.Config{Source: s.Source, Router: fleet.router(), Replicas: fleet.replicas()}
	fleet.between(&s.config)
	fleet.speculate(&s.config)
	s.config.SampleEvery = sampleEvery(s.Source.Summary(), fleet.longestStep(), len(s.config.Replicas))
	s.metrics = fleet.metrics()
	if err := fleet.err(); err != nil {
		s.Source.Close()
		return nil, err
	}
	first := fleet.pools[0]
	s.Scenario, s.Warnings, s.file, s.registry = fleet.s, fleet.warnings, f, registry
	s.Model, s.Accelerator, s.Engine, s.Memory = first.Model, *first.Accelerator, first.Engine, first.Plan
	s.pools, s.speculators = fleet.pools, fleet.speculators
	return s, nil
}

// each readies the servers step by step, all of them before the next step, until something is wrong.
func (f *fleetBuilder) each(steps ...func(*builder)) {
	for _, step := range steps {
		f.then(func() {
			for i, b := range f.builders {
				if !slices.Contains(f.builders[:i], b) {
					step(b)
				}
			}
		})
	}
}

// then takes a step unless something is wrong already.
func (f *fleetBuilder) then(step func()) {
	if len(f.problems) == 0 {
		step()
	}
}

// startClock makes the clock that predicts steps.
func (b *builder) startClock() {
	_, ownModel := modelFile(b.file.files(), b.locate("model", b.s.Model))
	var err error
	if b.Clock, err = b.file.Clocks.clock(&b.s, ownModel, b.Config.NewClock); err != nil {
		b.problem("parallelism", "%v", err)
		return
	}
	b.addWarnings(b.Clock.Warnings())
}

// longestStep returns about how long a small step takes in the slowest pool.
func (f *fleetBuilder) longestStep() sim.Time {
	var longest sim.Time
	for i := range f.pools {
		p := &f.pools[i]
		step := sim.Seconds(p.Plan.Weights / p.Accelerator.Bandwidth)
		if given := p.s.Steps; given != nil {
			step = sim.Time(max(given.Prefill.Step, given.Decode.Step))
		}
		longest = max(longest, step)
	}
	return longest
}

// sampleEvery returns the time between two samples of the state of that many replicas: some thousands over the run where its
// length is known, fewer in large fleets, and not many more than there are steps. So sampling takes a small part of the run.
func sampleEvery(load workload.Summary, step sim.Time, replicas int) sim.Time {
	const most, least, states, perStep = 2000, 256, 128_000, 10
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
