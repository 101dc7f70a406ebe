package sweep

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// tableMetrics are the columns of the table for people, which has 80 characters.
func tableMetrics() []string {
	return []string{"p99_ttft_ms", "p99_tpot_ms", "output_throughput", "slo_attainment", frontCost}
}

// WriteText prints a table of the points for people, and why others cannot run.
func (r *Results) WriteText(out io.Writer) error {
	p := report.NewPrinter(out)
	header := []string{}
	left := []int{}
	for i, a := range r.Axes {
		header = append(header, a.Key[strings.LastIndexByte(a.Key, '.')+1:])
		left = append(left, i)
	}
	for _, name := range tableMetrics() {
		header = append(header, scenarios.MetricNamed(name).Short)
	}
	header = append(header, "binds", "evidence", "")
	left = append(left, len(header)-3, len(header)-2)
	var rows [][]string
	reasons := map[string][]string{}
	var order []string
	front := false
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Reason != "" {
			if reasons[row.Reason] == nil {
				order = append(order, row.Reason)
			}
			reasons[row.Reason] = append(reasons[row.Reason], row.Point.String())
			continue
		}
		rows = append(rows, row.cells())
		front = front || row.Pareto
	}
	p.Table(header, rows, left...)
	if front {
		p.Text("* on the Pareto front: no other point is both cheaper for a token and faster for " +
			"a request (99th percentile)")
	}
	if len(order) > 0 {
		p.Gap()
		p.Text(fmt.Sprintf("%d of %d points cannot run:", len(r.Rows)-len(rows), len(r.Rows)))
		for _, reason := range order {
			p.Item(whichPoints(reasons[reason]) + ": " + reason)
		}
	}
	return p.Err()
}

// whichPoints names points, the first of many.
func whichPoints(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d others", names[0], len(names)-1)
	}
	return strings.Join(names, "; ")
}

func (row *Row) cells() []string {
	var cells []string
	for _, s := range row.Point {
		cells = append(cells, s.Value)
	}
	for _, name := range tableMetrics() {
		cells = append(cells, cell(scenarios.MetricNamed(name), row.Values[column(name)]))
	}
	mark := ""
	if row.Pareto {
		mark = "*"
	}
	return append(cells, row.Binds, string(row.Evidence), mark)
}

func cell(m scenarios.Metric, x float64) string {
	switch m.Unit {
	case scenarios.Milliseconds:
		return units.FormatDuration(x / 1000)
	case scenarios.Share:
		return report.Percent(x)
	}
	return report.Figure(x)
}

// label is the title of a metric with its unit, for an axis.
func label(m scenarios.Metric) string {
	if m.Unit == scenarios.Count || m.Unit == scenarios.Share {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, m.Unit)
}
