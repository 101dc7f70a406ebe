package fit

import (
	"context"
	"fmt"
	"time"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Server builds the simulated deployment with other factors.
type Server struct {
	// Load reads the scenario, with further overrides.
	Load func(sets ...string) (*scenarios.File, error)
}

// build returns the simulation of the scenario with the factors.
func (s *Server) build(f scenarios.Factors) (*scenarios.Simulation, error) {
	file, err := s.Load(settings(f)...)
	if err != nil {
		return nil, err
	}
	return file.Build(policies.Default())
}

// clock returns the clock of the server with the factors.
func (s *Server) clock(f scenarios.Factors) (*steptime.Clock, error) {
	file, err := s.Load(settings(f)...)
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return nil, err
	}
	return steps.Clock, nil
}

// Evidence returns what is known of predictions for the server.
func (s *Server) Evidence() (evidence.Evidence, error) {
	simulation, err := s.build(scenarios.Factors{})
	if err != nil {
		return evidence.Evidence{}, err
	}
	simulation.Source.Close()
	return simulation.Evidence(), nil
}

// served is a request as it was simulated. Times are in seconds.
type served struct {
	at, ttft, tpot, e2e float64
	output              int
	done                bool
}

// requestRecorder is a sim.Observer that keeps every request.
type requestRecorder struct {
	sim.NopObserver
	requests []served
	order    []int // of sending: numbers of requests
	last     float64
}

// Finished implements sim.Observer.
func (o *requestRecorder) Finished(s *sim.Sequence) {
	o.requests[o.order[s.ID]] = served{s.Arrival.Seconds(), s.TTFT().Seconds(), s.TPOT().Seconds(),
		s.E2E().Seconds(), s.Output, true}
	o.last = max(o.last, (s.Arrival + s.E2E()).Seconds())
}

// run simulates the requests of a run, and returns the compared ones, in the
// order in which the run lists them.
func (s *Server) run(ctx context.Context, f scenarios.Factors,
	r *observed.Run) (*requestRecorder, error) {
	simulation, err := s.build(f)
	if err != nil {
		return nil, err
	}
	defer simulation.Source.Close()
	if r.Load.Untimed {
		return nil, fmt.Errorf("run %s: %w", r.Name, errUntimed)
	}
	requests, before := requestsOf(r)
	if len(requests) == 0 {
		return nil, fmt.Errorf("run %s has no requests", r.Name)
	}
	source := newReplay(requests, r.Load.Concurrency)
	o := &requestRecorder{requests: make([]served, len(requests)), order: source.order}
	config := simulation.Config()
	config.Source, config.Observer, config.SampleEvery = source, o, 0
	if _, err := sim.Run(ctx, config); err != nil {
		return nil, err
	}
	o.requests = o.requests[before:]
	return o, nil
}

// validity is how long a fit holds, if nothing says that the machine changed: engines are released
// every two or three weeks, and drivers every quarter.
const validity = 90 * 24 * time.Hour

// Deployment returns what a deployment.yaml says of the fit. Measured is the day of the
// measurements, as 2026-11-23; empty if it is not known, so that nothing expires.
func (r *Result) Deployment(server *Server, o *observed.Observed,
	measured string) (*scenarios.Fitted, error) {
	file, err := server.Load()
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return nil, err
	}
	s := &steps.Scenario
	d := &scenarios.Fitted{Model: steps.Model.Name, Accelerator: steps.Accelerator.Name,
		Tensor: s.Parallelism.Tensor, Engine: s.Engine.Preset, EngineVersion: s.Engine.Version,
		Flags: o.Server.Flags, Measured: measured, Factors: r.Values(),
		Deviations: scenarios.Deviations(r.Deviations()), Errors: r.HeldOut()}
	load := o.Traffic()
	d.Traffic = scenarios.Traffic{Rate: load.Rate, Prompt: load.Prompt, Output: load.Output}
	d.Traffic.LeastUsers, d.Traffic.MostUsers = r.problem.users()
	if at, err := time.Parse(time.DateOnly, measured); err == nil {
		d.Expires = at.Add(validity).Format(time.DateOnly)
	}
	return d, nil
}
