package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// label is the title of a metric with its unit, for an axis.
func label(m scenarios.Metric) string {
	if m.Unit == scenarios.Count || m.Unit == scenarios.Share {
		return m.Title
	}
	return fmt.Sprintf("%s (%s)", m.Title, m.Unit)
}

// mostPictures is how many pictures a sweep has: more are not looked at.
const mostPictures = 5

// WritePlots draws, as SVG and PNG into dir, the Pareto front, latency against throughput, and the
// metrics that differ most between points. A metric is drawn over the axis with the most values
// that are numbers (of several, the last), with a line for each combination of the others.
func (r *Results) WritePlots(dir string, style plots.Style) error {
	if err := errors.Join(r.plotFront(dir, style),
		r.plotTradeoff(dir, style, "p99_ttft_ms")); err != nil {
		return err
	}
	horizontal := r.horizontal()
	for _, m := range r.telling(mostPictures - 2) {
		metric := planner.Metrics()[m]
		c := r.curves(m, metric, horizontal)
		c.Title += "\n" + r.finding(m, metric)
		p, err := c.Draw()
		if err == nil {
			err = style.Save(dir, metric.Name, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// telling returns the places of the n metrics to draw, or fewer. Each differs between points: first
// come metrics of the table, then the others, the largest ratio of two points first.
func (r *Results) telling(n int) (list []int) {
	columns := append([]string{"margin", "speculation_speedup"}, r.tableMetrics()...)
	rank := func(m int) float64 {
		if place := slices.Index(columns, planner.Metrics()[m].Name); place >= 0 {
			return float64(place - len(columns))
		}
		least, most := r.ends(m)
		return r.Rows[least].Values[m] / r.Rows[most].Values[m] // below one
	}
	for m := range r.metrics() {
		least, most := r.ends(m)
		if least < 0 {
			continue
		}
		low, high := r.Rows[least].Values[m], r.Rows[most].Values[m]
		if high-low > 0.01*math.Abs(high) {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return list[:min(n, len(list))]
}

// ends returns the rows with the least and the most of a metric; -1 where no row has it.
func (r *Results) ends(m int) (least, most int) {
	least, most = -1, -1
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Values != nil && row.has(m) {
			if least < 0 || row.Values[m] < r.Rows[least].Values[m] {
				least = i
			}
			if most < 0 || row.Values[m] > r.Rows[most].Values[m] {
				most = i
			}
		}
	}
	return least, most
}

// finding says between which points a metric differs, and by how much.
func (r *Results) finding(m int, metric scenarios.Metric) string {
	least, most := r.ends(m)
	say := func(i int) string {
		row := &r.Rows[i]
		return planner.Words(metric.Unit, row.Values[m]) + " with " + pointName(row.Point)
	}
	return "from " + say(least) + " to " + say(most)
}

// pointName names a point as legends do.
func pointName(point planner.Point) string {
	names := make([]string, len(point))
	for i, s := range point {
		names[i] = named(s)
	}
	return strings.Join(names, ", ")
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
		return s.Key[strings.LastIndexByte(s.Key, '.')+1:] + " " + shortNumber(s.Value)
	}
	return s.Value
}

// plotFront draws price against latency. Where prices are not known there is nothing to draw.
func (r *Results) plotFront(dir string, style plots.Style) error {
	cost, latency := column(frontCost), column(frontLatency)
	all, front := plots.Series{Name: "points of the sweep"}, plots.Series{Name: "Pareto front"}
	add := func(s *plots.Series, row *Row) {
		s.X, s.Y = append(s.X, row.Values[cost]), append(s.Y, row.Values[latency])
		s.Missed = append(s.Missed, !row.SLOMet)
	}
	var names []string
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
			names = append(names, pointName(row.Point))
		}
	}
	metrics := planner.Metrics()
	limit, name := r.limit(frontLatency)
	p, err := plots.Front(r.titled("Price against latency"), label(metrics[cost]),
		metrics[latency].Title, all, front, names, limit, name)
	if err != nil {
		return err
	}
	return style.Save(dir, "pareto", p)
}
