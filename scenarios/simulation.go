package scenarios

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// Simulation is a scenario that is ready to run, once.
type Simulation struct {
	// Scenario has every default filled in.
	Scenario Scenario
	// Warnings are facts that a reader of the result should know.
	Warnings []string

	// The server of the first pool: its model on accelerators under an engine, and the plan of the
	// memory of one accelerator.
	Model       *models.Architecture
	Accelerator hardware.Accelerator
	Engine      steptime.Engine
	Memory      steptime.MemoryPlan
	// Source is the workload. Run closes it.
	Source workload.Source

	given       func(field string) bool // reports whether the file or the command line sets a field
	pools       []pool
	speculators []*speculation.Speculator // by replica; nil for replicas that do not draft
	shared      []sharedPool
	config      sim.Config
	metrics     metrics.Config
	// baseline builds the same scenario without speculative decoding; nil if there is no
	// comparison.
	baseline func() (*Simulation, error)
}

// Explain returns the scenario with every default filled in, as YAML that gives the same result.
// Values that neither the scenario nor the command line gives are marked as defaults. Comments name
// the back ends of each kind of server.
func (s *Simulation) Explain() ([]byte, error) {
	text, err := strict.Encode(s.Scenario, s.given)
	var told []string
	for i := range s.pools {
		words := s.pools[i].Clock.Kernels()
		if words == "" || slices.Contains(told, words) {
			continue
		}
		told = append(told, words)
		text = fmt.Appendf(text, "# kernels: %s\n", words)
	}
	return text, err
}

// Given reports whether the file or the command line sets a field, such as batching.max-sequences.
func (s *Simulation) Given(field string) bool { return s.given(field) }

// Metrics returns the SLOs, classes and tenants by which the simulation sums up its requests.
func (s *Simulation) Metrics() metrics.Config { return s.metrics }

// Run runs the simulation, and tells the observers what happens. If ctx is done, Run stops early
// and returns its error. An error in a trace is an InputError.
func (s *Simulation) Run(ctx context.Context, observers ...sim.Observer) (*Result, error) {
	defer s.Source.Close()
	collector, err := metrics.New(s.metrics)
	if err != nil {
		return nil, err
	}
	work := newFleetWork(s.pools)
	config := s.config
	config.Observer = runObserver{collector, work}
	crowd := &burstFinder{}
	if s.config.SampleEvery > 0 && s.Scenario.Workload.Arrivals.Process != "at-once" {
		observers = append(observers[:len(observers):len(observers)], crowd)
	}
	if len(observers) > 0 {
		config.Observer = append(sim.Observers{config.Observer}, observers...)
	}
	outcome, err := sim.Run(ctx, config)
	if err != nil {
		if s.Source.Err() != nil {
			return nil, InputError{fmt.Errorf("workload.trace: %w", s.Source.Err())}
		}
		return nil, err
	}
	done := &finished{
		scenario: s.Scenario, warnings: s.Warnings, pools: s.pools, speculators: s.speculators,
		source: s.Source, outcome: &outcome, collector: collector, work: work,
		summary: collector.Summary(&outcome), crowd: crowd,
	}
	for i := range config.Replicas {
		if m, ok := config.Replicas[i].Memory.(interface{ Loads() int64 }); ok {
			done.adapterLoads += m.Loads()
		}
	}
	if s.baseline != nil && done.summary.Completed > 0 {
		done.baseline, err = runBaseline(ctx, s.baseline)
		if IsInputError(err) { // the fleet cannot serve these contexts without drafts
			done.warnings = append(slices.Clone(s.Warnings), fmt.Sprintf("the speed-up by drafts "+
				"is not known, since the scenario does not run without them: %v", err))
		} else if err != nil {
			return nil, err
		}
	}
	r, err := done.result()
	if err == nil {
		tables := slices.ContainsFunc(s.pools, func(p pool) bool {
			return p.s.Hardware.Operators != ""
		})
		r.Warnings = append(r.Warnings, r.outside(tables)...)
	}
	return r, err
}

// Unsampled turns off the samples of the state of replicas. The result then has no series, and
// lacks the figures that follow from it: how KV memory is divided, and whether the system is
// overloaded.
func (s *Simulation) Unsampled() { s.config.SampleEvery = 0 }

func runBaseline(ctx context.Context, build func() (*Simulation, error)) (*metrics.Summary, error) {
	s, err := build()
	if err != nil {
		return nil, err
	}
	r, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &r.Summary, nil
}

// Servers returns a replica of each pool.
func (s *Simulation) Servers() []*deployment.Server {
	list := make([]*deployment.Server, len(s.pools))
	for i := range s.pools {
		list[i] = &s.pools[i].Server
	}
	return list
}

// Steps returns the step times that the simulation uses: the first pool's.
func (s *Simulation) Steps() *Steps {
	first := s.pools[0]
	steps := &Steps{
		Scenario: s.Scenario, Model: first.Model, Accelerator: *first.Accelerator,
		Memory: first.Plan, Clock: first.Clock, Warnings: s.Warnings,
		speculator: s.speculators[first.first],
	}
	if pools := s.Scenario.Fleet.Pools; len(pools) > 0 {
		steps.Scenario, _ = pools[0].over(s.Scenario)
	}
	return steps
}

// Ledger returns what an accelerator of each stage does in a step that ran, which the leap is. What
// the step takes beyond that is drafting, and waiting for transfers and for stages that are busy.
func (s *Simulation) Ledger(l *sim.Leap) steptime.Ledger {
	for i := range s.pools {
		if p := &s.pools[i]; l.Replica < p.first+p.size {
			return p.Clock.Whole(&sim.Step{Decodes: l.Decodes, DecodeTokens: l.DecodeTokens,
				Context: l.Context, Prefill: l.Prefill})
		}
	}
	return nil
}

// DraftModel returns the model that the first pool runs for each drafted token, or nil without one.
func (s *Simulation) DraftModel() *models.Architecture { return s.pools[0].drafting.model }

// Accelerators returns the number of accelerators over all replicas.
func (s *Simulation) Accelerators() int {
	n := 0
	for i := range s.pools {
		n += s.pools[i].accelerators()
	}
	return n
}

// SLO returns the SLO of the requests of a class, by sim.Request.Class.
func (s *Simulation) SLO(class int) metrics.SLO {
	if class < len(s.metrics.Classes) {
		return s.metrics.Classes[class].SLO
	}
	return s.metrics.SLO
}

// Models returns the names of the models that are served, by sim.Request.Model.
func (s *Simulation) Models() []string {
	var names []string
	for i := range s.pools {
		if p := &s.pools[i]; p.model == len(names) {
			names = append(names, p.Model.Name)
		}
	}
	return names
}

// Config returns the configuration that Run would simulate, for a caller that drives the loop
// itself. It has the policies of the simulation, so Run must not be called afterwards. The caller
// closes Source.
func (s *Simulation) Config() sim.Config { return s.config }

// Key returns the properties of the first pool's servers on which accuracy depends. It returns
// false if the scenario changes step times, so that no measurement applies.
func (s *Simulation) Key() (deployment.Key, bool) { return s.pools[0].Key() }

// Keys returns the properties of each kind of server on which accuracy depends.
func (s *Simulation) Keys() []deployment.Key {
	var list []deployment.Key
	for _, k := range kindsOf(s.pools) {
		key, _ := k[0].Key()
		list = append(list, key)
	}
	return list
}

// Evidence returns the evidence for the kind of server with the lowest grade.
func (s *Simulation) Evidence() evidence.Evidence {
	load := s.Source.Summary()
	return weakest(kindResults(kindsOf(s.pools), evidence.Load{Prompt: load.Prompt,
		Output: load.Output, Whole: s.Scenario.Workload.Whole}))
}

// StepByStep makes a simulation take each step by itself, and report the tokens of each. The result
// is the same. It is called before Run.
func (s *Simulation) StepByStep(tokens func(q *sim.Sequence, n int, at sim.Time)) {
	s.config.MaxLeap, s.config.Tokens = 1, tokens
}

// OnTransfer has f called for each KV cache that goes from prefill to decode.
func (s *Simulation) OnTransfer(f func(sim.Transfer)) { s.config.Sent = f }

// ReplaceClocks gives each replica another clock, such as one that executes the steps. It must be
// called before Run. The result's figures of work, cost and energy stay predicted ones.
func (s *Simulation) ReplaceClocks(replace func(predicted sim.StepClock) sim.StepClock) {
	for i := range s.config.Replicas {
		r := &s.config.Replicas[i]
		r.Clock = replace(r.Clock)
	}
}

// ReplaceSource gives the simulation another source of requests in place of the workload, such as
// one that waits for wall-clock time. It must be called before Run.
func (s *Simulation) ReplaceSource(replace func(workload sim.Source) sim.Source) {
	s.config.Source = replace(s.config.Source)
}

// Speculators returns the speculator of each replica; nil for replicas without drafts.
func (s *Simulation) Speculators() []*speculation.Speculator { return s.speculators }

// ReplaceSpeculators gives each replica with drafts another speculator, such as one that makes real
// drafts. It must be called before Run. The figures of drafts in the result are what the
// predicting speculators were given.
func (s *Simulation) ReplaceSpeculators(
	replace func(predicted *speculation.Speculator) sim.Speculator) {
	for i, p := range s.speculators {
		if p != nil {
			s.config.Replicas[i].Speculator = replace(p)
		}
	}
}
