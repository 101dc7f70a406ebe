package timeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Waterfall is the life of one request.
type Waterfall struct {
	// Name distinguishes it from other variants' waterfalls.
	Name string
	*Life
}

// RecordLife runs a simulation until the request with the given number has ended, and returns its
// life. Traces hold the events until then: the run itself goes on for a moment, which differs from
// run to run. Requests are numbered from 0 in the order of their arrival.
func RecordLife(ctx context.Context, s *scenarios.Simulation, id int64,
	traces ...*Trace) (*Life, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &lifeRecorder{id: id, traces: traces, cancel: stop}
	w.Recorder = NewRecorder(w.done)
	config := s.Config()
	var observers sim.Observers
	for _, t := range traces {
		observers = append(observers, t)
	}
	config.Observer = append(observers, w) // the last, so that traces have its last event
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

// lifeRecorder records lives until one request's is complete.
type lifeRecorder struct {
	*Recorder
	id     int64
	found  *Life
	why    *sim.Rejection // why the request has no answer
	traces []*Trace
	cancel context.CancelCauseFunc
}

// stop ends the traces and the run.
func (w *lifeRecorder) stop() {
	for _, t := range w.traces {
		t.End()
	}
	w.cancel(errSeen)
}

func (w *lifeRecorder) done(l *Life) {
	if l.ID == w.id {
		w.found = l
		w.stop()
	}
}

// Rejected implements sim.Observer.
func (w *lifeRecorder) Rejected(q *sim.Request, why sim.Rejection) {
	w.Recorder.Rejected(q, why)
	if q.ID == w.id {
		w.why = &why
		w.stop()
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

// Document is waterfalls as JSON. Times are in milliseconds from the arrival of the request, and
// exact: the parts of a request add up to its e2el_ms, and so do its totals.
type Document struct {
	Waterfalls []document `json:"waterfalls"`
}

type document struct {
	Name         string  `json:"name,omitempty"`
	Request      int64   `json:"request"`
	PromptTokens int     `json:"prompt_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CachedTokens int     `json:"cached_tokens"`
	Replica      int     `json:"replica"`
	Preemptions  int     `json:"preemptions"`
	Retries      int     `json:"retries"`
	Arrival      millis  `json:"arrival_ms"` // from the beginning of the run
	TTFT         millis  `json:"ttft_ms"`
	E2E          millis  `json:"e2el_ms"`
	Totals       []total `json:"totals"`
	Parts        []part  `json:"parts"`
}

type total struct {
	Kind  string  `json:"kind"`
	Span  millis  `json:"ms"`
	Share float64 `json:"share"`
	Parts int     `json:"parts"`
	Steps int64   `json:"steps"`
}

type part struct {
	Kind    string `json:"kind"`
	From    millis `json:"from_ms"`
	Span    millis `json:"ms"`
	Replica int    `json:"replica"`
	Steps   int64  `json:"steps"`
	Tokens  int    `json:"tokens"`
}

// millis is a time that is written in milliseconds with all its digits.
type millis sim.Time

// MarshalJSON implements json.Marshaler.
func (m millis) MarshalJSON() ([]byte, error) {
	unit := int64(sim.Millisecond)
	text := fmt.Sprintf("%d.%08d", int64(m)/unit, int64(m)%unit)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// NewDocument returns waterfalls as a document.
func NewDocument(all []Waterfall) Document {
	var d Document
	for _, w := range all {
		d.Waterfalls = append(d.Waterfalls, w.document())
	}
	return d
}

func (w *Waterfall) document() document {
	d := document{Name: w.Name, Request: w.ID, PromptTokens: w.Prompt, OutputTokens: w.Output,
		CachedTokens: w.Cached, Replica: w.Replica, Preemptions: w.Preemptions, Retries: w.Retries,
		Arrival: millis(w.Arrival), TTFT: millis(w.TTFT()), E2E: millis(w.E2E())}
	for _, t := range w.Totals() {
		d.Totals = append(d.Totals, total{t.Kind.String(), millis(t.Span), share(t, w.Life),
			t.Parts, t.Steps})
	}
	for i := range w.Parts {
		p := &w.Parts[i]
		d.Parts = append(d.Parts, part{p.Kind.String(), millis(p.From - w.Arrival),
			millis(p.Span()), p.Replica, p.Steps, p.Tokens})
	}
	return d
}

// share returns what part of the latency of l is of a kind, in [0, 1].
func share(t Total, l *Life) float64 {
	return float64(t.Span) / float64(max(1, l.E2E()))
}
