// Package waterfall says where the time of one request went.
package waterfall

import (
	"context"
	"errors"
	"fmt"

	"github.com/llmsim/llmsim/internal/report/life"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Waterfall is the life of one request.
type Waterfall struct {
	// Name distinguishes it from those of other variants.
	Name string
	*life.Life
}

// Record runs a simulation until the request with the given number has ended, and returns its life.
// Other observers see all events until then. Requests are numbered from 0 in the order of their
// arrival.
func Record(ctx context.Context, s *scenarios.Simulation, id int64,
	others ...sim.Observer) (*life.Life, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &lifeRecorder{id: id, stop: stop}
	w.Recorder = life.NewRecorder(w.done)
	config := s.Config()
	config.Observer = append(sim.Observers{w}, others...)
	defer s.Source.Close()
	outcome, err := sim.Run(ctx, config)
	w.Close()
	switch {
	case w.found != nil:
		return w.found, nil
	case w.why != nil:
		return nil, fmt.Errorf("request %d has no waterfall: it was %v", id, *w.why)
	case err != nil:
		return nil, err
	}
	return nil, scenarios.BadInput(fmt.Errorf("found request %d, want a number from 0 to %d", id,
		outcome.Arrived-1))
}

// errSeen ends a run in which the request has been seen.
var errSeen = errors.New("the request has been seen")

// lifeRecorder records lives until that of one request is complete.
type lifeRecorder struct {
	*life.Recorder
	id    int64
	found *life.Life
	why   *sim.Rejection // why the request has no answer
	stop  context.CancelCauseFunc
}

func (w *lifeRecorder) done(l *life.Life) {
	if l.ID == w.id {
		w.found = l
		w.stop(errSeen)
	}
}

// Rejected implements sim.Observer.
func (w *lifeRecorder) Rejected(q *sim.Request, why sim.Rejection) {
	w.Recorder.Rejected(q, why)
	if q.ID == w.id {
		w.why = &why
		w.stop(errSeen)
	}
}

// Slowest runs a simulation and returns the number of the request with the longest latency, the
// first of them where there are several.
func Slowest(ctx context.Context, s *scenarios.Simulation) (int64, error) {
	most := slowest{id: -1}
	config := s.Config()
	config.Observer = &most
	defer s.Source.Close()
	if _, err := sim.Run(ctx, config); err != nil {
		return 0, err
	}
	if most.id < 0 {
		return 0, errors.New("no request got an answer, so there is no slowest one")
	}
	return most.id, nil
}

// slowest looks for the longest latency.
type slowest struct {
	sim.NopObserver
	id      int64
	latency sim.Time
}

// Finished implements sim.Observer.
func (w *slowest) Finished(s *sim.Sequence) {
	if e := s.E2E(); w.id < 0 || e > w.latency || e == w.latency && s.ID < w.id {
		w.id, w.latency = s.ID, e
	}
}
