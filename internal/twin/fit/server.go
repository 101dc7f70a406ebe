package fit

import (
	"context"
	"fmt"

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
