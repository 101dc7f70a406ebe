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
	"github.com/llmsim/llmsim/scenarios"
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
