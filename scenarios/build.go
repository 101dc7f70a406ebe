package scenarios

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
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
		a.config.Tenants = n + 1 // the last has requests without a tenant
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

// Equipment is the model and the accelerators that a scenario names, with their links.
type Equipment struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network nodes; nil without one.
	ScaleUp, Network *hardware.Link
	// Price is an accelerator's; 0 if unknown.
	Price    Price
	Warnings []string
}

// Equipment looks up what the scenario names. It does not check whether the model fits. The error
// is an InputError.
func (f *File) Equipment(registry *policies.Registry) (*Equipment, error) {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.runSteps((*server).lookUp)
	if err := n.err(); err != nil {
		return nil, err
	}
	c := l.kinds[0]
	return &Equipment{Model: c.Model, Accelerator: c.Accelerator, ScaleUp: c.ScaleUp,
		Network: c.Network, Price: c.s.Hardware.Price, Warnings: n.warnings}, nil
}

// CheckNames returns an error if the scenario names a model, hardware, an engine, a policy or a
// parameter that does not exist. It does not check whether the scenario fits and runs: see Build.
func (f *File) CheckNames(registry *policies.Registry) error {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.choose()
	if len(n.problems) == 0 {
		routing := f.Scenario.Routing
		choose(&view{notes: n, written: f.Scenario}, l.kinds[0].Anywhere(), "routing",
			&registry.Routing, routing.slot("routing"), nil)
	}
	return n.err()
}

// Describe returns the scenario of a model on an accelerator, with overrides as in Load. It returns
// an error if the model, the accelerator or the engine is not known.
func Describe(model, accelerator string, overrides ...string) (*File, error) {
	s := Scenario{Model: model, Hardware: Hardware{Accelerator: accelerator}}
	text, err := strict.Encode(s, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	f, err := Parse("", text, overrides...)
	if err != nil {
		return nil, err
	}
	n := &notes{file: f}
	v := &view{notes: n, written: f.Scenario}
	v.findModel()
	v.findMachine()
	v.findEngine()
	if err := n.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Memory says what the memory of each accelerator of the first pool is used for, and what would fit
// if the model does not.
type Memory struct {
	// Scenario has the defaults filled in on which the plan rests.
	Scenario Scenario
	Plan     steptime.MemoryPlan
	// Warnings are facts about the plan that a reader should know.
	Warnings []string
	// ChosenTensor reports whether the number of accelerators that share each layer was chosen, as
	// the fewest that hold the model, since the scenario does not say.
	ChosenTensor bool
	// Advice names the smallest changes with which the model fits. It is empty if the model fits.
	Advice string
}

// Memory divides the memory of the scenario's accelerators. A model that does not fit is no error
// here.
func (f *File) Memory(registry *policies.Registry) (*Memory, error) {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.plan()
	if err := n.err(); err != nil {
		return nil, err
	}
	first := l.kinds[0]
	if first.Plan.Err() == nil && first.draftsElsewhere() {
		first.fit()
		first.Plan = first.limitToDraftModel(first.Plan)
		if err := n.err(); err != nil {
			return nil, err
		}
	}
	m := &Memory{Scenario: first.s, Plan: first.Plan, Warnings: n.warnings,
		ChosenTensor: !f.givenOrTier("parallelism.tensor")}
	if first.Plan.Err() != nil {
		m.Advice = first.whatWouldFit()
	}
	return m, nil
}
