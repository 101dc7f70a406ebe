package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// tableMetrics are the columns of the table for people, which has 80 characters.
func (r *Results) tableMetrics() []string {
	list := []string{"p99_ttft_ms", "p99_tpot_ms", "output_throughput", "slo_attainment", frontCost}
	for _, m := range r.metrics() {
		if m.Name == "margin" {
			list = append(list, m.Name)
		}
	}
	return list
}

// tableColumn is a column of the table for people. Columns of less rank are left out first where
// the table is too wide.
type tableColumn struct {
	title string
	words bool
	rank  int
	cell  func(*Row) string
}

const (
	always = iota + 1
	soonLeftOut
	leftOutFirst
)

// tableColumns lists the columns of points that ran. What is the same for all of them is no column:
// it is said in a sentence.
func (r *Results) tableColumns(ran []*Row) (list []tableColumn, same []string) {
	for i, a := range r.Axes {
		list = append(list, tableColumn{a.Key[strings.LastIndexByte(a.Key, '.')+1:], true, always,
			func(row *Row) string { return shortNumber(row.Point[i].Value) }})
	}
	for _, name := range r.tableMetrics() {
		m, rank := scenarios.MetricNamed(name), always
		if name == "output_throughput" {
			rank = soonLeftOut
		}
		list = append(list, tableColumn{m.Short, false, rank,
			func(row *Row) string { return planner.Words(m.Unit, row.Values[column(name)]) }})
	}
	for _, c := range []tableColumn{
		{"binds", true, soonLeftOut, func(row *Row) string { return row.Binds }},
		{"evidence", true, leftOutFirst, func(row *Row) string { return string(row.Evidence) }},
	} {
		if value, all := common(ran, c.cell); !all {
			list = append(list, c)
		} else if value != "" {
			same = append(same, fmt.Sprintf("%s: %s", c.title, value))
		}
	}
	return append(list, tableColumn{"", false, always, func(row *Row) string {
		if row.Pareto {
			return "*"
		}
		return ""
	}}), same
}

// common returns the value that all rows have; all is false where they differ.
func common(rows []*Row, of func(*Row) string) (value string, all bool) {
	for i, row := range rows {
		if i == 0 {
			value = of(row)
		} else if of(row) != value {
			return "", false
		}
	}
	return value, true
}

// shortNumber is a number with four digits and its unit, and any other value as it is.
func shortNumber(value string) string {
	x, unit, ok := planner.Number(value)
	if !ok || strings.HasPrefix(value, "$") {
		return value
	}
	return strconv.FormatFloat(math.Round(x*1e4)/1e4, 'g', max(4, len(fmt.Sprint(int(x)))), 64) +
		unit
}

// tableOf returns the table of these columns.
func tableOf(list []tableColumn, ran []*Row) doc.Block {
	t := doc.Block{Kind: doc.Table, Rows: make([][]string, len(ran))}
	for i, c := range list {
		t.Header = append(t.Header, c.title)
		if c.words {
			t.Left = append(t.Left, i)
		}
		for k, row := range ran {
			t.Rows[k] = append(t.Rows[k], c.cell(row))
		}
	}
	return t
}

// Blocks is a table of the points, and why others cannot run.
func (r *Results) Blocks() (p doc.Blocks) {
	var ran []*Row
	reasons := map[string][]string{}
	var order []string
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Reason == "" {
			ran = append(ran, row)
			continue
		}
		if reasons[row.Reason] == nil {
			order = append(order, row.Reason)
		}
		reasons[row.Reason] = append(reasons[row.Reason], row.Point.String())
	}
	r.addTable(&p, ran)
	if len(order) > 0 {
		p.Gap()
		p.Text(fmt.Sprintf("%d of %d points cannot run:", len(r.Rows)-len(ran), len(r.Rows)))
		for _, reason := range order {
			p.Item(whichPoints(reasons[reason]) + ": " + reason)
		}
	}
	return p
}

// addTable shows the points that ran, with the columns that there is room for.
func (r *Results) addTable(p *doc.Blocks, ran []*Row) {
	list, same := r.tableColumns(ran)
	table := tableOf(list, ran)
	for rank := leftOutFirst; rank > always && !table.Fits(); rank-- {
		list = slices.DeleteFunc(list, func(c tableColumn) bool { return c.rank == rank })
		table = tableOf(list, ran)
	}
	*p = append(*p, table)
	for _, words := range same {
		p.Text("For all of them, " + words + ".")
	}
	if r.WholeRuns {
		p.Text("Some points do not keep up with their load, so prices are over whole runs.")
	}
	if slices.ContainsFunc(ran, func(row *Row) bool { return row.Pareto }) {
		p.Text("* on the Pareto front: no other point is both cheaper for a token and faster for " +
			"a request (99th percentile)")
	}
}

// whichPoints names points, the first of many.
func whichPoints(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d others", names[0], len(names)-1)
	}
	return strings.Join(names, "; ")
}

// label is the title of a metric with its unit, for an axis.
func label(m scenarios.Metric) string {
	if m.Unit == scenarios.Count || m.Unit == scenarios.Share {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, m.Unit)
}

// WritePlots draws every metric over the axis with the most values that are numbers (of several,
// the last), a line for each combination of the others, latencies against throughput along the same
// lines, and the Pareto front, as SVG and PNG into dir.
func (r *Results) WritePlots(dir string, style plots.Style) error {
	horizontal := r.horizontal()
	for m, metric := range r.metrics() {
		c := r.curves(m, metric, horizontal)
		p, err := c.Draw()
		if err == nil {
			err = style.Save(dir, metric.Name, p)
		}
		if err != nil {
			return err
		}
	}
	for _, latency := range []string{"p99_ttft_ms", "p99_tpot_ms"} {
		if err := r.plotTradeoff(dir, style, latency); err != nil {
			return err
		}
	}
	return r.plotFront(dir, style)
}

// curves returns the curves of a metric for a picture: times in a readable unit, shares in percent,
// and the limit of the SLO where there is one.
func (r *Results) curves(m int, metric scenarios.Metric, horizontal int) *plots.Curves {
	series, names := r.series(m, horizontal)
	c := &plots.Curves{Title: r.titled(metric.Title), X: axisLabel(r.Axes[horizontal]),
		Y: label(metric), Series: series, Names: names}
	limit, name := r.limit(metric.Name)
	factor := 1.0
	switch metric.Unit {
	case scenarios.Milliseconds:
		unit, seconds := plots.TimeUnit(highest(series) / 1000)
		factor, c.Y = 1e-3/seconds, fmt.Sprintf("%s (%s)", metric.Title, unit)
	case scenarios.Share:
		factor, c.Percent, c.Y = 100, true, metric.Title+" (%)"
	}
	for _, s := range series {
		for i := range s.Y {
			s.Y[i] *= factor
		}
	}
	c.Limit, c.LimitName = limit*factor, name
	return c
}

func highest(series []plots.Series) (most float64) {
	for _, s := range series {
		for _, y := range s.Y {
			most = max(most, y)
		}
	}
	return most
}

// titled is a title with the name of the scenario.
func (r *Results) titled(title string) string {
	if r.Scenario == "" {
		return title
	}
	return title + ": " + r.Scenario
}

// limit returns the limit of the SLO on a metric in milliseconds, with words for it; 0 without one,
// or where an axis changes it. A mean or median is not what an SLO limits.
func (r *Results) limit(metric string) (limit float64, words string) {
	if slices.ContainsFunc(r.Axes, func(a planner.Axis) bool {
		return strings.HasPrefix(a.Key, "slo")
	}) {
		return 0, ""
	}
	for name, l := range map[string]scenarios.Limits{"p99_ttft_ms": r.SLO.TTFT,
		"p99_tpot_ms": r.SLO.TPOT, "p99_e2el_ms": r.SLO.E2E} {
		if s := sim.Time(l.Strictest()).Seconds(); name == metric && s > 0 {
			return 1000 * s, "SLO " + units.FormatDuration(s)
		}
	}
	return 0, ""
}

// plotTradeoff draws a latency against throughput along the axis to plot over, for example the
// latency of users while the load rises.
func (r *Results) plotTradeoff(dir string, style plots.Style, latency string) error {
	series := r.tradeoff(latency)
	if len(series) == 0 {
		return nil
	}
	metrics := planner.Metrics()
	throughput := metrics[column("output_throughput")]
	title := "Latency against throughput, as " + r.Axes[r.horizontal()].Key + " grows"
	limit, name := r.limit(latency)
	p, err := plots.Tradeoff(r.titled(title), label(throughput), metrics[column(latency)].Title,
		series, limit, name)
	if err != nil {
		return err
	}
	return style.Save(dir, "throughput_"+latency, p)
}

// tradeoff returns the points of each line in order of the axis to plot over; nothing where that
// has no order. Points without the latency are left out.
func (r *Results) tradeoff(latency string) []plots.Series {
	axis := r.horizontal()
	if _, _, numeric := numbers(r.Axes[axis].Values); !numeric {
		return nil
	}
	return r.lines(axis, func(row *Row) (x, y float64, ok bool) {
		y = row.Values[column(latency)]
		return row.Values[column("output_throughput")], y, y > 0
	})
}

// horizontal chooses the axis to plot over.
func (r *Results) horizontal() int {
	best, most := len(r.Axes)-1, 0
	for i, a := range r.Axes {
		if _, _, numeric := numbers(a.Values); numeric && len(a.Values) >= most {
			best, most = i, len(a.Values)
		}
	}
	return best
}

// numbers reads values as numbers of one unit; ok reports whether they are.
func numbers(values []string) (list []float64, unit string, ok bool) {
	for i, v := range values {
		x, of, ok := planner.Number(v)
		if !ok || i > 0 && of != unit {
			return nil, "", false
		}
		list, unit = append(list, x), of
	}
	return list, unit, true
}

// axisLabel is the key of an axis, with the unit of its values.
func axisLabel(a planner.Axis) string {
	_, unit, _ := numbers(a.Values)
	if unit == "" {
		return a.Key
	}
	if unit[0] == '/' {
		unit = "1" + unit
	}
	return a.Key + " (" + unit + ")"
}

// series returns the values of a metric as lines over an axis, and the names of its values where
// they are no numbers.
func (r *Results) series(metric, axis int) (list []plots.Series, names []string) {
	positions, _, numeric := numbers(r.Axes[axis].Values)
	if !numeric {
		names = r.Axes[axis].Values
	}
	at := map[string]float64{}
	for i, v := range r.Axes[axis].Values {
		at[v] = float64(i)
		if numeric {
			at[v] = positions[i]
		}
	}
	list = r.lines(axis, func(row *Row) (x, y float64, ok bool) {
		return at[row.Point[axis].Value], row.Values[metric], row.has(metric)
	})
	return list, names
}

// lines returns a line for each combination of the values of the other axes, with a point for each
// row that has one.
func (r *Results) lines(axis int, point func(*Row) (x, y float64, ok bool)) (list []plots.Series) {
	index := map[string]int{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Values == nil {
			continue
		}
		x, y, ok := point(row)
		if !ok {
			continue
		}
		var others []string
		for k, s := range row.Point {
			if k != axis {
				others = append(others, named(s))
			}
		}
		name := strings.Join(others, ", ")
		n, known := index[name]
		if !known {
			n = len(list)
			index[name] = n
			list = append(list, plots.Series{Name: name})
		}
		list[n].X = append(list[n].X, x)
		list[n].Y = append(list[n].Y, y)
		list[n].Missed = append(list[n].Missed, !row.SLOMet)
	}
	return list
}

// named is a setting in a legend. A number needs the end of its key.
func named(s planner.Setting) string {
	if _, _, numeric := numbers([]string{s.Value}); numeric {
		return s.Key[strings.LastIndexByte(s.Key, '.')+1:] + " " + s.Value
	}
	return s.Value
}

// plotFront draws price against latency. Where prices are not known there is nothing to draw.
func (r *Results) plotFront(dir string, style plots.Style) error {
	cost, latency := column(frontCost), column(frontLatency)
	all, front := plots.Series{Name: "points of the sweep"}, plots.Series{Name: "Pareto front"}
	add := func(s *plots.Series, row *Row) {
		s.X, s.Y = append(s.X, row.Values[cost]), append(s.Y, row.Values[latency])
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Values != nil && row.Values[cost] != 0 {
			add(&all, row)
		}
	}
	if len(all.X) == 0 {
		return nil
	}
	for _, i := range r.byPrice() {
		if row := &r.Rows[i]; row.Pareto {
			add(&front, row)
		}
	}
	metrics := planner.Metrics()
	p, err := plots.Front(r.titled("Price against latency"), label(metrics[cost]),
		label(metrics[latency]), all, front)
	if err != nil {
		return err
	}
	return style.Save(dir, "pareto", p)
}

// The two sides of the Pareto front, by the names of metrics.
const (
	frontCost    = "cost_per_million_output_tokens"
	frontLatency = "p99_e2el_ms"
)

// column returns the place of a metric in Row.Values.
func column(name string) int {
	return slices.IndexFunc(planner.Metrics(), func(m scenarios.Metric) bool {
		return m.Name == name
	})
}

// byPrice lists the rows with a price of tokens, the cheapest first, and of equal ones the fastest.
func (r *Results) byPrice() (order []int) {
	cost, latency := column(frontCost), column(frontLatency)
	for i := range r.Rows {
		if v := r.Rows[i].Values; v != nil && v[cost] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := r.Rows[a].Values, r.Rows[b].Values
		return cmp.Or(cmp.Compare(x[cost], y[cost]), cmp.Compare(x[latency], y[latency]))
	})
	return order
}

// markFront marks the rows that no other row beats in both the price of a token and the 99th
// percentile of the latency. There is no front if prices are not known.
func (r *Results) markFront() {
	latency, fastest := column(frontLatency), math.Inf(1)
	for _, i := range r.byPrice() {
		if l := r.Rows[i].Values[latency]; l < fastest {
			r.Rows[i].Pareto, fastest = true, l
		}
	}
}
