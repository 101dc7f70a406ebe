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

// Pair is a request, or the mean of the requests of an interval, as it was measured and as it is
// predicted. Times are in seconds; 0 is not known.
type Pair struct {
	// At is when it was sent, from the start of the run, and Weight the number of requests.
	At     float64    `json:"at"`
	Weight float64    `json:"weight"`
	Prompt float64    `json:"prompt"`
	Output float64    `json:"output"`
	TTFT   [2]float64 `json:"ttft"`
	TPOT   [2]float64 `json:"tpot"`
	E2E    [2]float64 `json:"e2e"`
}

// Compare runs the requests of a run through the twin, and returns each beside its prediction. Runs
// without requests are compared interval by interval; others have nothing to compare.
func (s *Server) Compare(ctx context.Context, f scenarios.Factors, r *observed.Run) ([]Pair,
	error) {
	if len(r.Requests) == 0 && len(r.Intervals) == 0 {
		return nil, nil
	}
	o, err := s.run(ctx, f, r)
	if err != nil {
		return nil, err
	}
	if len(r.Requests) == 0 {
		return intervalPairs(r, o), nil
	}
	var list []Pair
	n := 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Failed {
			continue
		}
		p := o.requests[n]
		n++
		if p.done && q.Output > 0 && (q.TTFT > 0 || q.E2E > 0) {
			list = append(list, Pair{q.Start(), 1, float64(q.Prompt), float64(q.Output),
				[2]float64{q.TTFT, p.ttft}, [2]float64{q.TPOT(), p.tpot}, [2]float64{q.E2E, p.e2e}})
		}
	}
	return list, nil
}

func intervalPairs(r *observed.Run, o *requestRecorder) []Pair {
	var list []Pair
	for i := range r.Intervals {
		v := &r.Intervals[i]
		p := Pair{At: v.At, Weight: v.Requests}
		if v.Requests < 1 {
			continue
		}
		p.Prompt, p.Output = v.PromptTokens/v.Requests, v.OutputTokens/v.Requests
		for _, d := range sumData(0, []*observed.Interval{v}, false, true) {
			both := [2]float64{d.measured, d.predicted(o)}
			switch {
			case !observed.Finite(both[1]):
			case d.quantity == TTFT:
				p.TTFT = both
			case d.quantity == TPOT:
				p.TPOT = both
			case d.quantity == E2E:
				p.E2E = both
			}
		}
		list = append(list, p)
	}
	return list
}
