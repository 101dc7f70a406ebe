package timeline

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Step is a step of a batch.
type Step struct {
	From, To sim.Time
	// Prompt is the number of prompt tokens that it computes, Decodes the number of sequences that
	// get a token, Padding the number of finished ones that keep a place.
	Prompt, Decodes, Padding int
}

// Track is the steps of one batch of a replica.
type Track struct {
	Replica, Lane int
	Steps         []Step
}

// Chart is the requests and steps of one run.
type Chart struct {
	// Name distinguishes it from others.
	Name string
	// Rows are the requests, in the order of their numbers.
	Rows   []*Life
	Tracks []Track
	// End is when the last of the requests ended.
	End sim.Time
	// Blocks is who held which block of the KV memory; nil where that was not asked for, or the
	// memory cannot tell.
	Blocks *Blocks
}

// RecordChart runs a simulation step by step until the requests from first on, n of them, have
// ended. With blocks it looks at the KV memory too.
func RecordChart(ctx context.Context, name string, s *scenarios.Simulation, first int64, n int,
	blocks bool) (*Chart, error) {
	r := &recorder{chart: &Chart{Name: name}, first: first, n: int64(n), left: n}
	r.lives = NewRecorder(r.row)
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	config := s.Config()
	if memory, ok := config.Replicas[0].Memory.(sim.SlotMemory); ok && blocks {
		r.blocks = newBlockRecorder(memory)
	}
	config.Observer, config.MaxLeap = r, 1
	defer s.Source.Close()
	if _, err := sim.Run(ctx, config); err != nil && !errors.Is(context.Cause(ctx), errDone) {
		return nil, err
	}
	r.lives.Close()
	slices.SortFunc(r.chart.Rows, func(a, b *Life) int { return cmp.Compare(a.ID, b.ID) })
	if r.blocks != nil {
		r.blocks.pool.end(r.chart.End)
		r.chart.Blocks = r.blocks.blocks
	}
	r.chart.trim()
	return r.chart, nil
}

// errDone ends a run whose requests are all recorded.
var errDone = errors.New("all requests are recorded")

// recorder is a sim.Observer that fills a chart.
type recorder struct {
	sim.NopObserver
	chart    *Chart
	lives    *Recorder
	first, n int64 // the requests that are recorded
	left     int   // how many of them have not ended
	stop     context.CancelCauseFunc
	blocks   *blockRecorder // nil where nobody asked
}

// records reports whether a request is recorded.
func (r *recorder) records(id int64) bool { return id >= r.first && id-r.first < r.n }

// row takes in a request that finished.
func (r *recorder) row(l *Life) {
	if r.records(l.ID) {
		r.chart.Rows = append(r.chart.Rows, l)
		r.end(l.Last)
	}
}

// Steps implements sim.Observer.
func (r *recorder) Steps(l *sim.Leap) {
	step := Step{From: l.Start, To: l.End, Decodes: l.Decodes, Padding: l.Padding}
	for i := range l.Prefill {
		step.Prompt += l.Prefill[i].New
	}
	t := r.chart.track(l.Replica, l.Lane)
	t.Steps = append(t.Steps, step)
	r.lives.Steps(l)
	if r.blocks != nil && l.Replica == 0 {
		r.blocks.step(l)
	}
}

// track returns the track of a batch.
func (c *Chart) track(replica, lane int) *Track {
	for i := range c.Tracks {
		if t := &c.Tracks[i]; t.Replica == replica && t.Lane == lane {
			return t
		}
	}
	c.Tracks = append(c.Tracks, Track{Replica: replica, Lane: lane})
	return &c.Tracks[len(c.Tracks)-1]
}

// Finished implements sim.Observer.
func (r *recorder) Finished(s *sim.Sequence) {
	r.lives.Finished(s)
	if r.blocks != nil {
		r.blocks.finished(s)
	}
}

// Rejected implements sim.Observer.
func (r *recorder) Rejected(q *sim.Request, why sim.Rejection) {
	r.lives.Rejected(q, why)
	if r.records(q.ID) {
		r.end(q.Arrival)
	}
}

// end counts a request that has ended, and stops the run after the last.
func (r *recorder) end(at sim.Time) {
	r.chart.End = max(r.chart.End, at)
	if r.left--; r.left == 0 {
		r.stop(errDone)
	}
}

// trim leaves out the steps after the end.
func (c *Chart) trim() {
	for i := range c.Tracks {
		t := &c.Tracks[i]
		t.Steps = slices.DeleteFunc(t.Steps, func(s Step) bool { return s.From >= c.End })
	}
	c.Tracks = slices.DeleteFunc(c.Tracks, func(t Track) bool { return len(t.Steps) == 0 })
}
