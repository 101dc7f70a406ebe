package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/llmsim/llmsim/engine"
	"github.com/llmsim/llmsim/engine/gpt2"
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/validation/machine"
)

// Run is one run of a scenario.
type Run struct {
	// Result is what the scenario command would print.
	Result *scenarios.Result
	// Requests are in the order in which they finished, Steps in the order in which they ran; predicted runs leap, and have none.
	Requests []Request
	Steps    []Step
	// Noise is what happened to the machine meanwhile.
	Noise machine.Noise
}

// Request is what a user saw, in seconds.
type Request struct {
	Arrival float64 `json:"arrival"`
	TTFT    float64 `json:"ttft"`
	TPOT    float64 `json:"tpot"`
	E2E     float64 `json:"e2e"`
}

// watcher is a sim.Observer that notes requests, and frees what they held in the engine.
type watcher struct {
	clock    *engine.Clock // nil where nothing is executed
	requests []Request
}

// Finished implements sim.Observer.
func (w *watcher) Finished(s *sim.Sequence) {
	w.requests = append(w.requests, Request{
		Arrival: s.Arrival.Seconds(), TTFT: s.TTFT().Seconds(), TPOT: s.TPOT().Seconds(), E2E: s.E2E().Seconds(),
	})
	if w.clock != nil {
		w.clock.Release(s.ID)
	}
}

// Rejected implements sim.Observer.
func (w *watcher) Rejected(*sim.Request, sim.Rejection) {}

// Steps implements sim.Observer.
func (w *watcher) Steps(*sim.Leap) {}

// Sampled implements sim.Observer.
func (w *watcher) Sampled(sim.Time, int, sim.State) {}

// predict runs the scenario with predicted steps. The clock is the scenario's own where none is given.
func predict(ctx context.Context, f *scenarios.File, clock sim.StepClock) (*scenarios.Simulation, *Run, error) {
	s, err := f.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	if n := s.Accelerators(); n != 1 {
		return nil, nil, scenarios.BadInput(fmt.Errorf("the scenario uses %d accelerators; one host executes one replica", n))
	}
	if clock != nil {
		s.ReplaceClocks(func(sim.StepClock) sim.StepClock { return clock })
	}
	w := &watcher{}
	result, err := s.Run(ctx, w)
	return s, &Run{Result: result, Requests: w.requests}, err
}

// pairedClock returns the scenario's clock for a machine with the rates that were measured while the scenario was executed. What was
// calibrated are the efficiencies: the shares of these rates that each part of a step reaches.
func pairedClock(s *scenarios.Simulation, now machine.Rates) (*steptime.Clock, error) {
	a := s.Accelerator
	a.Bandwidth, a.Peak = now.Bandwidth, map[hardware.DType]float64{hardware.FP32: now.FLOPRate}
	return steptime.New(steptime.Config{
		Model: s.Model, Accelerator: &a, Engine: s.Engine,
		Weights: hardware.DType(s.Scenario.Engine.Weights), KV: hardware.DType(s.Scenario.Engine.KVCache),
	})
}

// execute runs the scenario with every step executed on e, and predicts each of these steps for the machine as it was meanwhile.
func execute(ctx context.Context, f *scenarios.File, host *machine.Machine, e *engine.Engine) (executed, predicted *Run, err error) {
	s, err := f.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	clock := host.Clock(e)
	defer clock.Reset()
	watch := host.Watch()
	log := &stepLog{clock: clock, every: watch.Sample}
	s.ReplaceClocks(func(sim.StepClock) sim.StepClock { return log })
	w := &watcher{clock: clock}
	result, err := s.Run(ctx, w)
	if err = errors.Join(err, clock.Err()); err != nil {
		return nil, nil, err
	}
	noise := watch.Stop()
	paired, err := pairedClock(s, noise.Rates)
	if err != nil {
		return nil, nil, err
	}
	log.predict(paired)
	_, predicted, err = predict(ctx, f, paired)
	return &Run{Result: result, Requests: w.requests, Steps: log.steps, Noise: noise}, predicted, err
}

// newEngine returns an engine for what the scenario serves, with the KV memory that the predicted run needed and some to spare: the
// engine's blocks are larger than most schedulers', and its schedule differs a little.
func newEngine(s *scenarios.Simulation, predicted *Run, host *machine.Machine) (*engine.Engine, error) {
	config, err := machine.GPT2(s.Model)
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	format, err := machine.Format(hardware.DType(s.Scenario.Engine.Weights))
	if err != nil {
		return nil, scenarios.BadInput(fmt.Errorf("engine.weights: %w", err))
	}
	model, err := host.Model(config, format)
	if err != nil {
		return nil, err
	}
	const spare = 64
	peak := predicted.Result.PeakKVUsage * float64(s.Memory.Tokens)
	blocks := int(math.Ceil(1.25*peak/gpt2.BlockTokens)) + 2*predicted.Result.PeakBatch + spare
	return host.Engine(model, blocks)
}
