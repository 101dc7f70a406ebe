package playground

import (
	"context"

	"github.com/llmsim/llmsim/sim"
)

// mostPoints is the largest number of points of an Overview.
const mostPoints = 480

// Overview is a whole run in a few hundred points: what waits, what is in the batch, and how full
// the KV memory is.
type Overview struct {
	// Ends is when the last step ends, in milliseconds.
	Ends   float64 `json:"ends"`
	Points []Point `json:"points"`
}

// Point is the state of the server at a time in milliseconds.
type Point struct {
	At      float64 `json:"at"`
	Waiting int     `json:"waiting"`
	Running int     `json:"running"`
	// Used is the share of the KV memory that is taken, from 0 to 1.
	Used float64 `json:"used"`
}

// NewOverview runs what NewStage shows step by step.
func NewOverview(ctx context.Context, settings []string, past []Phase) (*Overview, error) {
	s, _, err := build(settings, past)
	if err != nil {
		return nil, err
	}
	o := &Overview{}
	config := s.Config()
	config.Observer = &points{overview: o, keep: 1}
	_, err = sim.Run(ctx, config)
	return o, err
}

// points collects the states of a run. Each time that there are too many, it forgets every other.
type points struct {
	sim.NopObserver
	overview   *Overview
	keep, seen int // of every keep states one is kept
}

// Steps implements sim.Observer.
func (p *points) Steps(l *sim.Leap) { p.overview.Ends = milliseconds(l.End) }

// Sampled implements sim.Observer.
func (p *points) Sampled(at sim.Time, _ int, state sim.State) {
	p.seen++
	if p.seen%p.keep != 0 {
		return
	}
	o := p.overview
	o.Points = append(o.Points, Point{milliseconds(at), state.Waiting, state.Running,
		float64(state.Used) / float64(max(1, state.Capacity))})
	if len(o.Points) > mostPoints {
		half := o.Points[:0]
		for i := 1; i < len(o.Points); i += 2 {
			half = append(half, o.Points[i])
		}
		o.Points, p.keep = half, 2*p.keep
	}
}
