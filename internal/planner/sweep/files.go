package sweep

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

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
	w := csv.NewWriter(out)
	if err := w.Write(r.header()); err != nil {
		return err
	}
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
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
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
