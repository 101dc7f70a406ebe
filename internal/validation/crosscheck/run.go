package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/policies"
	policy "github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Run is one run of a scenario.
type Run struct {
	// Result is what the scenario command would print.
	Result *scenarios.Result
	// Requests are in the order in which they finished, Steps in the order in which they ran;
	// predicted runs leap, and have no steps.
	Requests []Request
	Steps    []Step
	// Spans are the steps of executed and predicted runs as they followed each other.
	Spans []Span
	// Noise is what happened to the machine meanwhile.
	Noise calibration.Noise
}

// Request is what a user saw, in seconds.
type Request struct {
	Arrival float64 `json:"arrival"`
	TTFT    float64 `json:"ttft"`
	TPOT    float64 `json:"tpot"`
	E2E     float64 `json:"e2e"`
}

// Span is when a step ran, in seconds.
type Span struct{ Start, End float64 }

// watcher is a sim.Observer that notes requests and steps, and frees what they held in the engine.
type watcher struct {
	sim.NopObserver
	clock    *engine.Clock // nil where nothing is executed
	requests []Request
	spans    []Span
}

// Finished implements sim.Observer.
func (w *watcher) Finished(s *sim.Sequence) {
	w.requests = append(w.requests, Request{
		Arrival: s.Arrival.Seconds(), TTFT: s.TTFT().Seconds(), TPOT: s.TPOT().Seconds(),
		E2E: s.E2E().Seconds(),
	})
	if w.clock != nil {
		w.clock.Release(s.ID)
	}
}

// Steps implements sim.Observer.
func (w *watcher) Steps(l *sim.Leap) {
	start := l.Start
	for i := range l.Steps - 1 {
		end := start + l.Length(i)
		w.spans = append(w.spans, Span{start.Seconds(), end.Seconds()})
		start = end
	}
	w.spans = append(w.spans, Span{start.Seconds(), l.End.Seconds()})
}

// predict runs the scenario with predicted steps.
func predict(ctx context.Context, f *scenarios.File) (*scenarios.Simulation, *Run, error) {
	s, err := f.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	if n := s.Accelerators(); n != 1 {
		return nil, nil, scenarios.BadInput(
			fmt.Errorf("the scenario uses %d accelerators; one host executes one replica", n))
	}
	if c := f.Scenario.Caches; c != nil && c.Start != "cold" {
		return nil, nil, scenarios.BadInput(fmt.Errorf("caches: found %s, and GPT-2 begins with "+
			"empty ones; leave caches out", c.Start))
	}
	w := &watcher{}
	result, err := s.Run(ctx, w)
	return s, &Run{Result: result, Requests: w.requests, Spans: w.spans}, err
}

// paired returns the scenario on a machine with the rates that were measured while it was executed.
// What was calibrated are the efficiencies: the shares of these rates that each part of a step
// reaches.
func paired(f *scenarios.File, now calibration.Rates) *scenarios.File {
	then := *f
	then.Tune = func(a *hardware.Accelerator) {
		faster := now.FLOPRate / a.Peak[hardware.FP32]
		a.Bandwidth, a.Peak = now.Bandwidth, maps.Clone(a.Peak)
		for d := range a.Peak {
			a.Peak[d] *= faster
		}
	}
	return &then
}

// execute runs the scenario with every step executed, and predicts each of these steps for the
// machine as it was meanwhile.
func (d *side) execute(ctx context.Context) (executed, predicted *Run, err error) {
	s, err := d.file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	clock := d.host.Clock(d.engine)
	defer clock.Reset()
	watch := d.host.Watch()
	log := &stepLog{clock: clock, every: watch.Sample}
	s.ReplaceClocks(func(sim.StepClock) sim.StepClock { return log })
	if d.drafts != nil {
		if err := d.draft(s, clock, log); err != nil {
			return nil, nil, err
		}
	}
	w := &watcher{clock: clock}
	result, err := s.Run(ctx, w)
	if err = errors.Join(err, clock.Err()); err != nil {
		return nil, nil, err
	}
	noise := watch.Stop()
	then, predicted, err := predict(ctx, paired(d.file, noise.Rates))
	if err != nil {
		return nil, nil, err
	}
	log.predict(then)
	return &Run{Result: result, Requests: w.requests, Steps: log.steps, Spans: w.spans,
		Noise: noise}, predicted, nil
}

// draft lets the engine make the drafts of a simulation; what is accepted differs from run to run.
func (d *side) draft(s *scenarios.Simulation, clock *engine.Clock, log *stepLog) error {
	decoder, err := d.drafts.decoder(uint64(len(d.result.Executed)))
	if err != nil {
		return err
	}
	serving := generate.NewServing(decoder)
	clock.Drafting = serving
	s.ReplaceSpeculators(func(predicted *policy.Speculator) sim.Speculator {
		return &executedDrafts{predicted, clock, serving, log}
	})
	return nil
}
