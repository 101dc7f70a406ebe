// Package sweep runs a scenario at every point of a grid of settings, on several cores. With a journal it can be stopped at any
// time and goes on where it was.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/planner"
	"github.com/llmsim/llmsim/planner/journal"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Sweep is a scenario and the grid of settings at which to run it.
type Sweep struct {
	// Name is the file or shipped scenario, Set what is overridden at all points, as in scenarios.Load.
	Name string
	Set  []string
	Axes []planner.Axis
}

// Options say how to run a sweep.
type Options struct {
	// Workers is the number of runs at the same time, at least 1. The results do not depend on it.
	Workers int
	// Journal keeps what is done; nil keeps nothing.
	Journal *journal.Journal
	// Started is told how many runs there are to do, Done that one is; nil where nobody watches. Done is called by several
	// goroutines.
	Started func(runs int)
	Done    func()
}

// Results are the points of a sweep in the order of the grid.
type Results struct {
	Axes []planner.Axis
	Rows []Row
}

// Row is one point.
type Row struct {
	Point planner.Point
	// Reason says why the point cannot run, such as that the model does not fit; empty where it ran.
	Reason string
	// Values are the figures of the result, in the order of planner.Metrics; nil where it did not run.
	Values []float64
	// Pareto tells that no other point is both cheaper and faster, see Front.
	Pareto bool
}

// outcome is what the journal keeps of a run.
type outcome struct {
	Reason string             `json:"reason,omitempty"`
	Values map[string]float64 `json:"values,omitempty"`
}

// Run runs the sweep. When ctx is done it returns ctx's error; what the journal has is not lost.
func (s *Sweep) Run(ctx context.Context, o Options) (*Results, error) {
	points, err := planner.Grid(s.Axes)
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	keys, err := s.keys(points)
	if err != nil {
		return nil, err
	}
	done, err := s.run(ctx, points, keys, o)
	if err != nil {
		return nil, err
	}
	r := &Results{Axes: s.Axes, Rows: make([]Row, len(points))}
	for i, p := range points {
		r.Rows[i] = newRow(p, done[keys[i]])
	}
	if !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Reason == "" }) {
		return nil, scenarios.BadInput(fmt.Errorf("no point of the grid can run; the first: %s", r.Rows[0].Reason))
	}
	r.markFront()
	return r, nil
}

func newRow(p planner.Point, o outcome) Row {
	row := Row{Point: p, Reason: o.Reason}
	if o.Reason == "" {
		for _, m := range planner.Metrics() {
			row.Values = append(row.Values, o.Values[m.Name])
		}
	}
	return row
}

// check reads the scenario with each value of each axis, so that a misspelt name is told before the first run.
func (s *Sweep) check() error {
	for _, a := range s.Axes {
		for _, v := range a.Values {
			f, err := s.load(planner.Point{{Key: a.Key, Value: v}})
			if err == nil {
				err = f.CheckNames(policies.Default())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sweep) load(p planner.Point) (*scenarios.File, error) {
	return scenarios.Load(s.Name, append(slices.Clip(s.Set), p.Overrides()...)...)
}

// keys returns the fingerprint of every point.
func (s *Sweep) keys(points []planner.Point) ([]string, error) {
	keys := make([]string, len(points))
	for i, p := range points {
		f, err := s.load(p)
		if err != nil {
			return nil, err
		}
		if keys[i], err = f.Fingerprint(); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// run returns the outcomes by key. Points with the same key are run once, those in the journal not at all.
func (s *Sweep) run(ctx context.Context, points []planner.Point, keys []string, o Options) (map[string]outcome, error) {
	done := map[string]outcome{}
	var todo []int
	for i, key := range keys {
		if _, known := done[key]; known {
			continue
		}
		var kept outcome
		if o.Journal == nil || !o.Journal.Get(key, &kept) {
			todo = append(todo, i)
		}
		done[key] = kept
	}
	if o.Started != nil {
		o.Started(len(todo))
	}
	results := make([]outcome, len(todo))
	clocks := planner.NewClockPool(o.Workers)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Workers)
	for n, i := range todo {
		group.Go(func() error {
			shared := clocks.Take()
			defer clocks.Return(shared)
			var err error
			if results[n], err = s.runPoint(ctx, points[i], shared); err != nil {
				return err
			}
			if o.Journal != nil {
				if err := o.Journal.Put(keys[i], results[n]); err != nil {
					return err
				}
			}
			if o.Done != nil {
				o.Done()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for n, i := range todo {
		done[keys[i]] = results[n]
	}
	return done, nil
}

// runPoint runs one point. That the scenario cannot run is an outcome, not an error.
func (s *Sweep) runPoint(ctx context.Context, p planner.Point, clocks *scenarios.Clocks) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	f, err := s.load(p)
	if err != nil {
		return outcome{}, err
	}
	f.Clocks = clocks
	simulation, err := f.Build(policies.Default())
	if scenarios.IsInputError(err) {
		return outcome{Reason: reason(err)}, nil
	}
	if err != nil {
		return outcome{}, err
	}
	result, err := simulation.Run(ctx)
	if err != nil {
		if ctx.Err() != nil || scenarios.IsInputError(err) {
			return outcome{}, err
		}
		return outcome{}, fmt.Errorf("%v: %w", p, err)
	}
	o := outcome{Values: map[string]float64{}}
	for _, m := range planner.Metrics() {
		o.Values[m.Name] = m.Of(result)
	}
	return o, nil
}

// reason says without file and line why a scenario cannot run: in a sweep the settings tell where.
func reason(err error) string {
	var list strict.Problems
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Message
	}
	return err.Error()
}
