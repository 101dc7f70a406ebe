// Package gantt shows the first requests of a run and the steps that carry them, for one policy or
// several below each other: as SVG, as a page, and in lines of text.
package gantt

import (
	"context"
	"errors"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Kind is what a request does for a while.
type Kind int

// Kinds. A request that does nothing of these waits.
const (
	Prefill Kind = iota
	Decode
	// Held is the time in which a complete answer keeps its place in a static batch.
	Held
)

// Part is a stretch of a request's life in which it does one thing.
type Part struct {
	Kind     Kind
	From, To sim.Time
	// Steps is the number of steps that it takes, Tokens how many tokens of the prompt they
	// compute.
	Steps, Tokens int
}

// Row is a request: from its arrival to its last token, with what it does in between.
type Row struct {
	ID             int64
	Arrival, First sim.Time
	Finish         sim.Time // 0 where it has not finished
	Prompt, Output int
	Parts          []Part
}

// Step is a step of a batch.
type Step struct {
	From, To sim.Time
	// Prompt is the number of prompt tokens that it computes, Decodes that of sequences that get a
	// token, Padding the number of finished ones that keep a place.
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
	Name   string
	Rows   []Row
	Tracks []Track
	// End is when the last of the requests ended.
	End sim.Time
	// Blocks is what the KV memory holds at its fullest; nil where that was not asked for, or the
	// memory cannot tell.
	Blocks *Blocks
}

// Record runs a simulation step by step until the requests from first on, n of them, have ended.
// With blocks it looks at the KV memory too.
func Record(ctx context.Context, name string, s *scenarios.Simulation, first int64, n int,
	blocks bool) (*Chart, error) {
	r := &recorder{chart: &Chart{Name: name, Rows: make([]Row, n)}, first: first, left: n}
	for i := range r.chart.Rows {
		r.chart.Rows[i].ID = first + int64(i)
	}
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	config := s.Config()
	if memory, ok := config.Replicas[0].Memory.(sim.SlotMemory); ok && blocks {
		r.blocks = &blockRecorder{memory: memory, live: map[*sim.Sequence]bool{}}
	}
	config.Observer, config.Tokens, config.MaxLeap = r, r.token, 1
	defer s.Source.Close()
	if _, err := sim.Run(ctx, config); err != nil && !errors.Is(context.Cause(ctx), errDone) {
		return nil, err
	}
	r.chart.Rows = slices.DeleteFunc(r.chart.Rows, func(row Row) bool { return row.Finish == 0 })
	if r.blocks != nil {
		r.chart.Blocks = &r.blocks.blocks
	}
	r.chart.trim()
	return r.chart, nil
}

// errDone ends a run whose requests are all recorded.
var errDone = errors.New("all requests are recorded")

// recorder is a sim.Observer that fills a chart.
type recorder struct {
	chart *Chart
	first int64
	left  int
	stop  context.CancelCauseFunc
	// fresh are the requests that got a token since the last step was reported.
	fresh []int64
	// whole are the requests whose answers a static batch has given as a whole since then.
	whole  []*Row
	blocks *blockRecorder // nil where nobody asked
}

// row returns the row of a request, nil if it is not recorded.
func (r *recorder) row(id int64) *Row {
	if i := id - r.first; i >= 0 && i < int64(len(r.chart.Rows)) {
		return &r.chart.Rows[i]
	}
	return nil
}

// token is a sim.Config.Tokens. Static batches give all tokens of an answer at once.
func (r *recorder) token(s *sim.Sequence, n int, _ sim.Time) {
	if r.row(s.ID) != nil && n == 1 {
		r.fresh = append(r.fresh, s.ID)
	}
}

// Steps implements sim.Observer.
func (r *recorder) Steps(l *sim.Leap) {
	step := Step{From: l.Start, To: l.End, Decodes: l.Decodes, Padding: l.Padding}
	var prompts []int64
	for i := range l.Prefill {
		c := &l.Prefill[i]
		step.Prompt += c.New
		if row := r.row(c.Sequence.ID); row != nil {
			row.add(Prefill, &step, c.New)
			prompts = append(prompts, c.Sequence.ID)
		}
	}
	for _, id := range r.fresh {
		if !slices.Contains(prompts, id) {
			r.row(id).add(Decode, &step, 0)
		}
	}
	r.fresh = r.fresh[:0]
	t := r.chart.track(l.Replica, l.Lane)
	t.Steps = append(t.Steps, step)
	for _, row := range r.whole {
		row.together(t.Steps)
	}
	r.whole = nil
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

// add adds a step to what the request does.
func (row *Row) add(kind Kind, step *Step, tokens int) {
	if n := len(row.Parts); n > 0 && row.Parts[n-1].Kind == kind && row.Parts[n-1].To == step.From {
		p := &row.Parts[n-1]
		p.To, p.Steps, p.Tokens = step.To, p.Steps+1, p.Tokens+tokens
		return
	}
	row.Parts = append(row.Parts, Part{Kind: kind, From: step.From, To: step.To, Steps: 1,
		Tokens: tokens})
}

// Finished implements sim.Observer.
func (r *recorder) Finished(s *sim.Sequence) {
	if r.blocks != nil {
		delete(r.blocks.live, s)
	}
	row := r.row(s.ID)
	if row == nil {
		return
	}
	row.Arrival, row.First, row.Finish, row.Prompt, row.Output = s.Arrival, s.FirstToken,
		s.LastToken, s.Prompt, s.Output
	if s.Output > 1 && s.FirstToken == s.LastToken {
		r.whole = append(r.whole, row)
	}
	r.end(s.LastToken)
}

// together adds the steps of an answer that a static batch gives as a whole: one for each token,
// and then those in which it waits for the rest of the batch.
func (row *Row) together(steps []Step) {
	if len(row.Parts) == 0 {
		return
	}
	begun, decoded := row.Parts[len(row.Parts)-1].To, 1
	for i := range steps {
		if steps[i].From < begun {
			continue
		}
		kind := Held
		if decoded < row.Output {
			kind = Decode
			decoded++
		}
		row.add(kind, &steps[i], 0)
	}
}

// Rejected implements sim.Observer.
func (r *recorder) Rejected(q *sim.Request, _ sim.Rejection) {
	if r.row(q.ID) != nil {
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

// Sampled implements sim.Observer.
func (r *recorder) Sampled(sim.Time, int, sim.State) {}

// trim leaves out the steps after the end.
func (c *Chart) trim() {
	for i := range c.Tracks {
		t := &c.Tracks[i]
		t.Steps = slices.DeleteFunc(t.Steps, func(s Step) bool { return s.From >= c.End })
	}
	c.Tracks = slices.DeleteFunc(c.Tracks, func(t Track) bool { return len(t.Steps) == 0 })
}
