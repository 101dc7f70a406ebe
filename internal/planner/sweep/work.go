package sweep

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// work is a sweep while it is being done.
type work struct {
	*Sweep
	Options
	text   string // of the scenario
	points []planner.Point
	keys   []string // of the points' results
	queue  *queue.Queue
}

// mostQueued is how many runs are in the queue at a time.
const mostQueued = 1024

// load returns the scenario of a point.
func (w *work) load(p planner.Point) (*scenarios.File, error) {
	return scenarios.Parse(w.Name, []byte(w.text), w.set(p)...)
}

func (w *work) set(p planner.Point) []string { return append(slices.Clip(w.Set), p.Overrides()...) }

// check reads the scenario with each value of each axis, so that a misspelt name is an error before
// the first run.
func (w *work) check() error {
	for _, a := range w.Axes {
		for _, v := range a.Values {
			f, err := w.load(planner.Point{{Key: a.Key, Value: v}})
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

// findKeys names the result of every point.
func (w *work) findKeys(ctx context.Context) error {
	w.keys = make([]string, len(w.points))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range w.points {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := w.load(p)
			if err == nil {
				w.keys[i], err = w.queue.Key(f, Kind, "")
			}
			return err
		})
	}
	return group.Wait()
}

// run returns the outcomes by key. Points with the same key are run once, those in the journal not
// at all.
func (w *work) run(ctx context.Context) (map[string]outcome, error) {
	if err := w.findKeys(ctx); err != nil {
		return nil, err
	}
	done := map[string]outcome{}
	var todo []int
	for i, key := range w.keys {
		if _, known := done[key]; known {
			continue
		}
		var kept outcome
		if (w.Journal == nil || !w.Journal.Get(key, &kept)) && w.Shard.Mine(len(done)) {
			todo = append(todo, i)
		}
		done[key] = kept
	}
	if w.Recorded && len(todo) > 0 {
		return nil, planner.MissingShards{Runs: len(todo)}
	}
	if w.Started != nil {
		w.Started(len(todo))
	}
	results := make([]outcome, len(todo))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostQueued)
	for n, i := range todo {
		group.Go(func() (err error) {
			results[n], err = w.runPoint(ctx, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for n, i := range todo {
		done[w.keys[i]] = results[n]
	}
	return done, nil
}

// runPoint has a point run, and keeps the outcome.
func (w *work) runPoint(ctx context.Context, i int) (o outcome, err error) {
	if err := ctx.Err(); err != nil {
		return o, err
	}
	task := &queue.Task{Key: w.keys[i], Kind: Kind, Name: w.Name, Text: w.text,
		Set: w.set(w.points[i])}
	err = w.queue.Do(ctx, task, &o)
	var parked *queue.Parked
	switch {
	case errors.As(err, &parked):
		o = outcome{Reason: parked.Error(), failed: true}
	case err != nil:
		return o, err
	case w.Journal != nil:
		if err := w.Journal.Put(w.keys[i], o); err != nil {
			return o, err
		}
	}
	if w.Done != nil {
		w.Done()
	}
	return o, nil
}

// header names the columns of the files: a column for each axis, reason, pareto, evidence, slo_met,
// slo_binds, and the metrics.
func (r *Results) header() []string {
	var names []string
	for _, a := range r.Axes {
		names = append(names, a.Key)
	}
	names = append(names, "reason", "pareto", "evidence", "slo_met", "slo_binds")
	for _, m := range r.metrics() {
		names = append(names, m.Name)
	}
	return names
}

// metrics yields the metrics that some point has, each with its place in Row.Values.
func (r *Results) metrics() iter.Seq2[int, scenarios.Metric] {
	return func(yield func(int, scenarios.Metric) bool) {
		for at, m := range planner.Metrics() {
			has := func(row Row) bool { return row.has(at) }
			if !math.IsNaN(m.Absent) || slices.ContainsFunc(r.Rows, has) {
				if !yield(at, m) {
					return
				}
			}
		}
	}
}

// has reports whether a point has the metric at a place.
func (row *Row) has(at int) bool { return row.Values != nil && !math.IsNaN(row.Values[at]) }

// WriteCSV writes a row for each point. A metric is empty if the point cannot run, or does not have
// it.
func (r *Results) WriteCSV(out io.Writer) error {
	rows := [][]string{r.header()}
	for i := range r.Rows {
		row := &r.Rows[i]
		var cells []string
		for _, s := range row.Point {
			cells = append(cells, s.Value)
		}
		cells = append(cells, row.Reason, strconv.FormatBool(row.Pareto), string(row.Evidence),
			strconv.FormatBool(row.SLOMet), row.Binds)
		for m := range r.metrics() {
			text := ""
			if row.has(m) {
				text = strconv.FormatFloat(row.Values[m], 'g', -1, 64)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	return csv.NewWriter(out).WriteAll(rows)
}

// jsonRow is a row of the JSON file.
type jsonRow struct {
	Settings map[string]string  `json:"settings"`
	Reason   string             `json:"reason,omitempty"`
	Pareto   bool               `json:"pareto"`
	Evidence evidence.Grade     `json:"evidence,omitempty"`
	SLOMet   bool               `json:"slo_met"`
	Binds    string             `json:"slo_binds,omitempty"`
	Metrics  map[string]float64 `json:"metrics,omitempty"`
}

// MarshalJSON writes a list of points with their settings and metrics.
func (r *Results) MarshalJSON() ([]byte, error) {
	list := make([]jsonRow, len(r.Rows))
	for i := range r.Rows {
		row := &r.Rows[i]
		list[i] = jsonRow{
			Settings: map[string]string{}, Reason: row.Reason, Pareto: row.Pareto,
			Evidence: row.Evidence, SLOMet: row.SLOMet, Binds: row.Binds,
		}
		for _, s := range row.Point {
			list[i].Settings[s.Key] = s.Value
		}
		if row.Values != nil {
			list[i].Metrics = map[string]float64{}
			for m, metric := range r.metrics() {
				if row.has(m) {
					list[i].Metrics[metric.Name] = row.Values[m]
				}
			}
		}
	}
	return json.Marshal(list)
}
