// Package sweep runs a scenario at every point of a grid of settings, on several cores. With a
// journal, a sweep can be stopped at any time, and goes on from there.
package sweep

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Sweep is a scenario and the grid of settings at which to run it.
type Sweep struct {
	// Name is the file or shipped scenario, and Set holds the overrides of all points, as in
	// scenarios.Load.
	Name string
	Set  []string
	Axes []planner.Axis
	// Text, if any, is the contents of the scenario, which is not read then.
	Text string
}

// Options say how to run a sweep.
type Options struct {
	// Queue says how many runs take place at the same time, and on which machines. The results do
	// not depend on it.
	Queue queue.Config
	// Shard is the part of the work to do. Its results go into the journal, and Run returns no
	// points.
	Shard planner.Shard
	// Recorded takes all results from the journal. A missing result is a shard.Missing error.
	Recorded bool
	// Journal keeps the results; nil keeps nothing.
	Journal *planner.Journal
	// Started, if not nil, is called with the number of runs to do, Done after each run. Done is
	// called by several goroutines.
	Started func(runs int)
	Done    func()
}

// Results are the points of a sweep in the order of the grid.
type Results struct {
	// Scenario is the name of the scenario, SLO its SLO, which axes may change.
	Scenario string
	SLO      scenarios.SLO
	Axes     []planner.Axis
	Rows     []Row
	// WholeRuns is set if prices are over whole runs although some points keep up with their
	// load, see scenarios.PriceAlike.
	WholeRuns bool
}

// Row is one point.
type Row struct {
	Point planner.Point
	// Reason says why the point cannot run, such as that the model does not fit; empty if it ran.
	Reason string
	// Failed reports whether the point could have run, but its runs failed.
	Failed bool
	// Values are the figures of the result, in the order of planner.Metrics. A figure that the
	// result does not have is NaN. Values is nil if the point did not run.
	Values []float64
	// Evidence says what the figures rest on, SLOMet whether the SLO is met, and Binds which limit
	// of it binds.
	Evidence evidence.Grade
	SLOMet   bool
	Binds    string
	// Pareto reports whether no other point is both cheaper and faster, see Front.
	Pareto bool
}

// outcome is what a run comes to, and what the journal keeps of it.
type outcome struct {
	Reason string `json:"reason,omitempty"`
	// Key is the setting of which Reason speaks.
	Key    string             `json:"key,omitempty"`
	Values map[string]float64 `json:"values,omitempty"`
	// Priced names the denominator of prices, and Whole has those figures over the whole run that
	// differ from Values, see scenarios.PriceAlike.
	Priced string             `json:"priced,omitempty"`
	Whole  map[string]float64 `json:"whole,omitempty"`
	// Evidence, SLOMet and Binds are as in Row.
	Evidence evidence.Grade `json:"evidence,omitempty"`
	SLOMet   bool           `json:"slo_met,omitempty"`
	Binds    string         `json:"slo_binds,omitempty"`
	// failed reports whether Reason is a failure of the program; such outcomes are not kept.
	failed bool
}

// Run runs the sweep. If ctx is done, Run returns its error; the journal keeps the finished runs.
func (s *Sweep) Run(ctx context.Context, o Options) (*Results, error) {
	points, err := planner.Grid(s.Axes)
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	w := &work{Sweep: s, Options: o, text: s.Text, points: points}
	if s.Text == "" {
		text, err := scenarios.Read(s.Name)
		if err != nil {
			return nil, err
		}
		w.text = string(text)
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	if w.queue, err = queue.Open(ctx, o.Queue, queue.Handlers{Kind: Simulate}); err != nil {
		return nil, err
	}
	defer w.queue.Close()
	done, err := w.run(ctx)
	if err != nil {
		return nil, err
	}
	if !o.Shard.Whole() {
		return nil, failures(done)
	}
	r, err := s.results(points, w.keys, done)
	if err != nil {
		return nil, err
	}
	f, err := w.load(nil)
	if err != nil {
		return nil, err
	}
	r.Scenario, r.SLO = f.Scenario.Name, f.Scenario.SLO.Complete()
	return r, nil
}

// results puts the outcomes of runs in the order of the grid.
func (s *Sweep) results(points []planner.Point, keys []string, done map[string]outcome) (*Results,
	error) {
	r := &Results{Axes: s.Axes, Rows: make([]Row, len(points))}
	var over []string
	for _, key := range keys {
		over = append(over, done[key].Priced)
	}
	r.WholeRuns = scenarios.PricedApart(over)
	for i, p := range points {
		o := done[keys[i]]
		if r.WholeRuns {
			o.Values = maps.Clone(o.Values)
			maps.Copy(o.Values, o.Whole)
		}
		r.Rows[i] = newRow(p, o)
	}
	if !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Reason == "" || row.Failed }) {
		return nil, scenarios.BadInput(fmt.Errorf("no point of the grid can run; the first, %s: %s",
			r.Rows[0].Point, r.Rows[0].Reason))
	}
	r.markFront()
	return r, nil
}

// failures returns an error where runs of a shard failed.
func failures(done map[string]outcome) error {
	n := 0
	for _, o := range done {
		if o.failed {
			n++
		}
	}
	if n > 0 {
		return planner.ShardFailed(n)
	}
	return nil
}

// Failed returns the number of points whose runs failed although they could have run.
func (r *Results) Failed() int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Failed {
			n++
		}
	}
	return n
}

func newRow(p planner.Point, o outcome) Row {
	row := Row{Point: p, Reason: o.Reason, Failed: o.failed, Evidence: o.Evidence, SLOMet: o.SLOMet,
		Binds: o.Binds}
	varied := slices.ContainsFunc(p, func(set planner.Setting) bool { return set.Key == o.Key })
	if o.Key != "" && !varied {
		row.Reason = o.Key + ": " + o.Reason // the name of the point does not have it
	}
	if o.Reason == "" {
		for _, m := range planner.Metrics() {
			v, found := o.Values[m.Name]
			if !found {
				v = m.Absent
			}
			row.Values = append(row.Values, v)
		}
	}
	return row
}

// Kind is the kind of tasks that are points of a sweep.
const Kind = "sweep"

// Simulate runs the scenario of a point; it is a queue.Handler. A scenario that cannot run is an
// outcome, and not an error.
func Simulate(ctx context.Context, f *scenarios.File, _ string) (any, error) {
	simulation, err := f.Build(policies.Default())
	if scenarios.IsInputError(err) {
		key, reason := planner.Reason(err)
		return outcome{Key: key, Reason: reason}, nil
	}
	if err != nil {
		return nil, err
	}
	if c := simulation.Scenario.Currency(); c != "" {
		return outcome{Reason: "prices are in " + c.Code() + ", and sweeps have US dollars: " +
			"convert them"}, simulation.Source.Close()
	}
	result, err := simulation.Run(ctx)
	if err != nil {
		return nil, err
	}
	o := outcome{Values: values(result), Evidence: result.Evidence.Grade,
		SLOMet: result.SLOMet, Binds: result.Binds, Priced: result.PricedOver}
	result.PriceWholeRun()
	o.Whole = values(result)
	maps.DeleteFunc(o.Whole, func(name string, v float64) bool { return v == o.Values[name] })
	return o, nil
}

// values returns the figures that a result has, by the names of their metrics.
func values(r *scenarios.Result) map[string]float64 {
	list := map[string]float64{}
	for _, m := range planner.Metrics() {
		if v := m.Of(r); !math.IsNaN(v) {
			list[m.Name] = v
		}
	}
	return list
}

// Check refuses results that no run gives: figures that are missing, unknown, negative or not
// finite, and figures that contradict each other.
func (o *outcome) Check() error {
	if o.Reason != "" {
		if len(o.Values) > 0 {
			return fmt.Errorf("found %d figures of a run that could not be", len(o.Values))
		}
		return nil
	}
	known := 0
	for _, m := range planner.Metrics() {
		v, found := o.Values[m.Name]
		if !found && math.IsNaN(m.Absent) {
			continue
		}
		known++
		if !found || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && !m.Signed {
			return fmt.Errorf("%s: found %g, want a finite number from 0", m.Name, v)
		}
	}
	if len(o.Values) != known {
		return fmt.Errorf("found %d figures, want %d", len(o.Values), known)
	}
	for name, v := range o.Whole {
		if _, found := o.Values[name]; !found || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s over the whole run: found %g, want a finite number of a figure "+
				"that the run has", name, v)
		}
	}
	return o.checkSums()
}

// rounding is the relative error that figures may have that are computed from one another.
const rounding = 1e-6

// checkSums refuses figures that contradict each other.
func (o *outcome) checkSums() error {
	v := o.Values
	if rate, served := v["request_throughput"],
		v["completed"]; math.Abs(rate*v["duration"]-served) > rounding*served {
		return fmt.Errorf("%g requests in %g s are not %g/s", served, v["duration"], rate)
	}
	for _, pair := range [][2]string{
		{"goodput", "request_throughput"}, {"output_throughput", "total_token_throughput"},
		{"median_ttft_ms", "p99_ttft_ms"},
		{"median_tpot_ms", "p99_tpot_ms"}, {"median_e2el_ms", "p99_e2el_ms"},
	} {
		if less, more := v[pair[0]], v[pair[1]]; less > more*(1+rounding) {
			return fmt.Errorf("%s is %g, more than %s, which is %g", pair[0], less, pair[1], more)
		}
	}
	if kept := v["slo_attainment"]; kept > 1 {
		return fmt.Errorf("slo_attainment: found %g, want a share", kept)
	}
	return nil
}
