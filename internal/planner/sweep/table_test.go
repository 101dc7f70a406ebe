package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// possible returns figures that some run could give: 10 requests in 5 s.
func possible() outcome {
	o := outcome{Values: map[string]float64{}}
	for _, m := range planner.Metrics() {
		o.Values[m.Name] = 1
	}
	o.Values["completed"], o.Values["duration"], o.Values["request_throughput"] = 10, 5, 2
	return o
}

// Figures that are computed from one another agree but for rounding, whatever their size; a share
// is 1 at most.
func TestContradictionsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		x    float64
		ok   bool
	}{
		{"completed", 10, true}, {"completed", 10 * (1 + 0.9e-6), true},
		{"completed", 10 * (1 + 1.2e-6), false}, {"completed", 10 * (1 - 1.2e-6), false},
		{"goodput", 2, true}, {"goodput", 2 * (1 + 0.9e-6), true},
		{"goodput", 2 * (1 + 1.2e-6), false}, {"median_ttft_ms", 1 + 1.2e-6, false},
		{"median_tpot_ms", 1 + 1.2e-6, false}, {"median_e2el_ms", 1 + 1.2e-6, false},
		{"output_throughput", 1 + 1.2e-6, false}, {"median_ttft_ms", 1, true},
		{"slo_attainment", 1, true}, {"slo_attainment", 1.01, false}, {"margin", -3, true},
		{"mean_ttft_ms", 0, true}, {"mean_ttft_ms", -1e-9, false},
	} {
		o := possible()
		o.Values[c.name] = c.x
		if err := o.Check(); (err == nil) != c.ok {
			t.Errorf("%s of %g: %v", c.name, c.x, err)
		}
	}
	for _, c := range []struct {
		change func(o *outcome)
		ok     bool
	}{
		{func(o *outcome) { delete(o.Values, "margin") }, true}, // tokens have no price
		{func(o *outcome) { delete(o.Values, "completed") }, false},
		{func(o *outcome) { o.Values["other"] = 1 }, false},
		{func(o *outcome) { o.Whole = map[string]float64{"margin": 2} }, true},
		{func(o *outcome) { o.Whole = map[string]float64{"other": 2} }, false},
		{func(o *outcome) { o.Whole = map[string]float64{"margin": math.NaN()} }, false},
		{func(o *outcome) { o.Whole = map[string]float64{"margin": math.Inf(-1)} }, false},
		{func(o *outcome) { *o = outcome{Reason: "does not fit"} }, true},
		{func(o *outcome) { o.Reason = "does not fit" }, false},
		{func(o *outcome) { o.Values = nil }, false},
	} {
		o := possible()
		if c.change(&o); (o.Check() == nil) != c.ok {
			t.Errorf("%+v: %v", o, o.Check())
		}
	}
}

// grid returns the results of two rates on three accelerators, by hand: with n the number of the
// point, metric m is 100·n + m, but for the price, which falls with n; point 4 does not fit. No
// point has a margin.
func grid(t *testing.T) *Results {
	t.Helper()
	axes := []planner.Axis{{Key: "hardware", Values: []string{"a", "b", "c"}},
		{Key: "workload.rate", Values: []string{"1/s", "3/s"}}}
	points, err := planner.Grid(axes)
	testkit.OK(t, err)
	r := &Results{Axes: axes}
	for n, p := range points {
		if n == 4 {
			r.Rows = append(r.Rows, Row{Point: p, Reason: "does not fit"})
			continue
		}
		o := outcome{Values: map[string]float64{}, Evidence: "measured", SLOMet: n != 1,
			Binds: fmt.Sprint("limit ", n)}
		for m, metric := range planner.Metrics() {
			if metric.Name != "margin" && metric.Name != "tokens_sold" {
				o.Values[metric.Name] = float64(100*n + m)
			}
		}
		o.Values["slo_attainment"], o.Values[frontCost] = 0.5, float64(10-n)
		r.Rows = append(r.Rows, newRow(p, o))
	}
	r.markFront()
	return r
}

// Every point is a row of each file once, in the order of the grid, with its settings; a metric
// that no point has is no column.
func TestEveryPointIsWrittenOnce(t *testing.T) {
	r := grid(t)
	var text bytes.Buffer
	testkit.OK(t, r.WriteCSV(&text))
	lines, err := csv.NewReader(&text).ReadAll()
	testkit.OK(t, err)
	document, err := json.Marshal(r)
	testkit.OK(t, err)
	var rows []jsonRow
	testkit.OK(t, json.Unmarshal(document, &rows))
	if len(lines) != 7 || len(rows) != 6 || slices.Contains(lines[0], "margin") ||
		!slices.Equal(lines[0][:7], []string{"hardware", "workload.rate", "reason", "pareto",
			"evidence", "slo_met", "slo_binds"}) || len(lines[0]) != 7+len(planner.Metrics())-2 {
		t.Fatalf("%d lines of %q and %d rows", len(lines), lines[0], len(rows))
	}
	for n, row := range rows {
		line := lines[n+1]
		ran := n != 4
		want := []string{[]string{"a", "b", "c"}[n/2], []string{"1/s", "3/s"}[n%2], "",
			strconv.FormatBool(ran), "measured", strconv.FormatBool(n != 1),
			fmt.Sprint("limit ", n)}
		if !ran {
			want = []string{"c", "1/s", "does not fit", "false", "", "false", ""}
		}
		// The cheaper a point, the slower it is, so that all are on the front.
		if !slices.Equal(line[:7], want) || row.Settings["hardware"] != want[0] ||
			row.Settings["workload.rate"] != want[1] || row.Reason != want[2] ||
			row.Pareto != ran || string(row.Evidence) != want[4] || row.Binds != want[6] ||
			row.SLOMet != (ran && n != 1) || (row.Metrics != nil) != ran {
			t.Errorf("point %d: %+v and %q, want %q", n, row, line[:7], want)
		}
		for i, name := range lines[0][7:] {
			cell := ""
			if v, found := row.Metrics[name]; found {
				cell = strconv.FormatFloat(v, 'g', -1, 64)
			}
			if line[7+i] != cell || ran && cell == "" {
				t.Errorf("point %d, %s: %q and %q", n, name, line[7+i], cell)
			}
		}
	}
	r.Rows[0].Values[column("margin")] = 7
	if !slices.Contains(r.header(), "margin") || r.Failed() != 0 {
		t.Error("a metric that a point has is no column")
	}
	r.Rows[4].Failed = true
	if r.Failed() != 1 {
		t.Error("a failed point is not counted")
	}
}

// The curves of a grid have each point that ran once: its place on the axis, its value in the unit
// of the picture, and whether it misses the SLO.
func TestCurvesByHand(t *testing.T) {
	r := grid(t)
	r.SLO.TTFT.Request, r.SLO.TPOT.P90 = scenarios.Span(2*sim.Second),
		scenarios.Span(30*sim.Millisecond)
	r.SLO.E2E.P99 = scenarios.Span(5 * sim.Second)
	metrics := planner.Metrics()
	if r.horizontal() != 1 {
		t.Fatalf("drawn over axis %d, want the one of numbers", r.horizontal())
	}
	curves := func(name string) *plots.Curves {
		return r.curves(column(name), metrics[column(name)], 1)
	}
	for name, scale := range map[string]float64{"p99_ttft_ms": 1, "completed": 1,
		"slo_attainment": 100} {
		c := curves(name)
		var xs []float64
		for k, s := range c.Series {
			xs = append(xs, s.X...)
			for i, y := range s.Y {
				n := 2*k + i + max(0, k-1) // point 4 did not run
				v := r.Rows[n].Values[column(name)]
				if math.Abs(y-v*scale) > 1e-9*(1+v) || s.Missed[i] != (n == 1) {
					t.Errorf("%s: point %d is at %g, want %g (missed %v)", name, n, y, v*scale,
						s.Missed[i])
				}
			}
		}
		if !slices.Equal(xs, []float64{1, 3, 1, 3, 3}) || c.Series[2].Name != "c" ||
			c.Percent != (name == "slo_attainment") || c.X != "workload.rate (1/s)" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := curves("p99_ttft_ms"); c.Limit != 2000 || c.LimitName != "SLO 2 s" ||
		!strings.HasSuffix(c.Y, "(ms)") {
		t.Errorf("the limit is %g, %s, over %s", c.Limit, c.LimitName, c.Y)
	}
	for i := range r.Rows { // above 2 s the unit is a second
		if r.Rows[i].Values != nil {
			r.Rows[i].Values[column("p99_e2el_ms")] *= 10
		}
	}
	if c := curves("p99_e2el_ms"); math.Abs(c.Limit-5) > 1e-9 || !strings.HasSuffix(c.Y, "(s)") ||
		math.Abs(c.Series[0].Y[0]-float64(column("p99_e2el_ms"))/100) > 1e-9 {
		t.Errorf("the limit is %g over %s; %v", c.Limit, c.Y, c.Series[0].Y)
	}
	for name, want := range map[string]float64{"p99_ttft_ms": 2000, "p99_tpot_ms": 30,
		"p99_e2el_ms": 5000, "mean_ttft_ms": 0, "completed": 0} {
		if got, words := r.limit(name); got != want || (words == "") != (want == 0) {
			t.Errorf("%s has the limit %g (%s), want %g", name, got, words, want)
		}
	}
	if r.SLO.TTFT.Request = 0; !func() bool { l, _ := r.limit("p99_ttft_ms"); return l == 0 }() {
		t.Error("a limit is drawn that is not there")
	}
	r.Axes = append(r.Axes, planner.Axis{Key: "slo.tpot"})
	if l, words := r.limit("p99_tpot_ms"); l != 0 || words != "" {
		t.Errorf("a limit that an axis changes is drawn at %g", l)
	}
	if highest([]plots.Series{{Y: []float64{1, 5}}, {Y: []float64{3}}}) != 5 || highest(nil) != 0 {
		t.Error("the highest value")
	}
}

// Latency against throughput leaves out points without the latency, and is drawn over numbers only.
func TestTradeoffByHand(t *testing.T) {
	r := grid(t)
	r.Rows[0].Values[column("p99_ttft_ms")] = 0
	r.Rows[1].Values[column("p99_ttft_ms")] = math.NaN()
	list := r.tradeoff("p99_ttft_ms")
	if len(list) != 2 || list[0].Name != "b" || !slices.Equal(list[1].X,
		[]float64{r.Rows[5].Values[column("output_throughput")]}) || !slices.Equal(list[1].Y,
		[]float64{r.Rows[5].Values[column("p99_ttft_ms")]}) {
		t.Errorf("%+v", list)
	}
	r.Axes[1].Values = []string{"x", "y"}
	if list := r.tradeoff("p99_ttft_ms"); list != nil {
		t.Errorf("over names: %+v", list)
	}
	for i := range r.Rows {
		r.Rows[i].Point[1].Value = r.Axes[1].Values[i%2]
	}
	series, names := r.series(column("completed"), 1)
	if !slices.Equal(names, []string{"x", "y"}) || !slices.Equal(series[0].X, []float64{0, 1}) {
		t.Errorf("names %q at %v", names, series[0].X)
	}
	for _, c := range []struct {
		axes []string // values of each
		want int
	}{{[]string{"1,2,3", "1,2"}, 0}, {[]string{"1,2", "1,2"}, 1}, {[]string{"1,2", "1,2,3"}, 1},
		{[]string{"1,2", "a,b,c"}, 0}, {[]string{"a", "b", "c"}, 2}, {[]string{"1s,2h", "3"}, 1}} {
		r := &Results{}
		for _, values := range c.axes {
			r.Axes = append(r.Axes, planner.Axis{Values: strings.Split(values, ",")})
		}
		if got := r.horizontal(); got != c.want {
			t.Errorf("%q: drawn over axis %d, want %d", c.axes, got, c.want)
		}
	}
	for want, a := range map[string]planner.Axis{
		"k":       {Key: "k", Values: []string{"a"}},
		"n":       {Key: "n", Values: []string{"1", "2"}},
		"r (1/s)": {Key: "r", Values: []string{"1/s"}}, "t (ms)": {Key: "t",
			Values: []string{"1ms", "2ms"}},
	} {
		if got := axisLabel(a); got != want {
			t.Errorf("the axis is labelled %q, want %q", got, want)
		}
	}
	for want, s := range map[string]planner.Setting{
		"rate 1/s": {Key: "workload.rate", Value: "1/s"},
		"h100":     {Key: "hardware", Value: "h100"}, "seed 3": {Key: "seed", Value: "3"}} {
		if got := named(s); got != want {
			t.Errorf("in a legend: %q, want %q", got, want)
		}
	}
	if r.titled("x") != "x" || (&Results{Scenario: "s"}).titled("x") != "x: s" {
		t.Error("titles do not name the scenario")
	}
}

// There are five pictures at most: of the front where prices are known, of latency against
// throughput, and of metrics that differ, each with its ends. The front is drawn through its
// points.
func TestPictures(t *testing.T) {
	front := func(mark bool) int {
		r := grid(t)
		for i := range r.Rows {
			r.Rows[i].Pareto = mark && r.Rows[i].Values != nil
		}
		dir := t.TempDir()
		testkit.OK(t, r.plotFront(dir, plots.Print))
		return len(testkit.Read(t, filepath.Join(dir, "pareto.svg")))
	}
	if with, without := front(true), front(false); with <= without {
		t.Errorf("a front of five points takes %d bytes, and no front %d", with, without)
	}
	r := grid(t)
	for i := range r.Rows {
		if v := r.Rows[i].Values; v != nil {
			v[column(frontCost)] = 0
		}
	}
	dir := t.TempDir()
	testkit.OK(t, r.plotFront(dir, plots.Print))
	testkit.OK(t, r.plotTradeoff(dir, plots.Print, "p99_ttft_ms"))
	found, err := os.ReadDir(dir)
	testkit.OK(t, err)
	if len(found) != 2 || found[1].Name() != "throughput_p99_ttft_ms.svg" {
		t.Errorf("files %v", found)
	}
	testkit.OK(t, grid(t).WritePlots(dir, plots.Print))
	all, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	testkit.OK(t, err)
	if len(all) != mostPictures {
		t.Errorf("a sweep has the pictures %v", all)
	}
	same := grid(t)
	for i := range same.Rows {
		if v := same.Rows[i].Values; v != nil {
			for m := range v {
				v[m] = 2
			}
			v[column("p99_ttft_ms")] = float64(3 + i)
		}
	}
	ttft := column("p99_ttft_ms")
	if list := same.telling(9); !slices.Equal(list, []int{ttft}) {
		t.Errorf("of metrics that are alike but one, %v are drawn", list)
	}
	if words := same.finding(ttft, planner.Metrics()[ttft]); words !=
		"from 3 ms with "+pointName(same.Rows[0].Point)+" to 8 ms with "+
			pointName(same.Rows[5].Point) {
		t.Errorf("the finding is %q", words)
	}
	if order := r.byPrice(); order != nil {
		t.Errorf("without prices the order is %v", order)
	}
	r = grid(t)
	for i, v := range []float64{3, 1, 2, 1, 0, 3} { // point 4 has not run
		if r.Rows[i].Values != nil {
			r.Rows[i].Values[column(frontCost)] = v
		}
	}
	r.Rows[0].Values[column(frontLatency)] = 1e6
	if order := r.byPrice(); !slices.Equal(order, []int{1, 3, 2, 5, 0}) {
		t.Errorf("by price, then by latency: %v", order)
	}
}

// said returns the words and the rows of a document.
func said(p doc.Blocks) (all string) {
	for _, b := range p {
		all += b.Words + "\n"
		for _, row := range append([][]string{b.Header}, b.Rows...) {
			all += strings.Join(row, "|") + "\n"
		}
	}
	return all
}

// The table has a row for each point that ran; what all have alike is a sentence; points that
// cannot run are named by their reason, once.
func TestTableByHand(t *testing.T) {
	r := grid(t)
	p := r.Blocks()
	table := p[0]
	if len(table.Rows) != 5 || !slices.Equal(table.Header[:2], []string{"hardware", "rate"}) ||
		!slices.Equal(table.Rows[4][:2], []string{"c", "3/s"}) || table.Left[1] != 1 ||
		table.Header[len(table.Header)-1] != "" || table.Rows[0][len(table.Header)-1] != "*" {
		t.Errorf("%q\n%q", table.Header, table.Rows)
	}
	for _, row := range table.Rows {
		if len(row) != len(table.Header) {
			t.Errorf("%d cells under %d titles", len(row), len(table.Header))
		}
	}
	words := said(p)
	for _, want := range []string{"For all of them, evidence: measured.\n",
		"* on the Pareto front", "1 of 6 points cannot run:\n",
		"hardware=c workload.rate=1/s: does not fit\n"} {
		if strings.Count(words, want) != 1 {
			t.Errorf("%q is not said once in\n%s", want, words)
		}
	}
	if strings.Contains(words, "whole runs") || strings.Contains(words, "binds:") {
		t.Errorf("said of all:\n%s", words)
	}
	r.WholeRuns = true
	for i := range r.Rows {
		r.Rows[i].Pareto = false
		r.Rows[i].Binds = "TTFT"
	}
	r.Rows[0].Evidence = "formula only"
	words = said(r.Blocks())
	if !strings.Contains(words, "so prices are over whole runs") ||
		strings.Contains(words, "Pareto") ||
		!strings.Contains(words, "all of them, binds: TTFT.") ||
		strings.Contains(words, "all of them, evidence") {
		t.Errorf("said\n%s", words)
	}
	ran := []*Row{&r.Rows[0], &r.Rows[1]}
	columns, same := r.tableColumns(ran)
	titles := map[string]int{}
	for _, c := range columns {
		titles[c.title] = c.rank
	}
	if titles["hardware"] != always || titles["evidence"] != leftOutFirst || len(same) != 1 ||
		titles["tokens/s"] != soonLeftOut || len(columns) != 2+5+1+1 {
		t.Errorf("columns %v, same %q", titles, same)
	}
	r.Rows[0].Values[column("margin")] = 3
	if more, _ := r.tableColumns(ran); len(more) != len(columns)+1 {
		t.Errorf("%d columns with a margin, %d without", len(more), len(columns))
	}
	for i := range r.Rows {
		r.Rows[i].Point = slices.Clone(r.Rows[i].Point)
		r.Rows[i].Point[0].Value = strings.Repeat("long", 12)
		r.Rows[i].Binds = fmt.Sprint("limit ", i)
	}
	narrow := r.Blocks()[0]
	if slices.Contains(narrow.Header, "evidence") || slices.Contains(narrow.Header, "tokens/s") ||
		slices.Contains(narrow.Header, "binds") || !slices.Contains(narrow.Header, "rate") {
		t.Errorf("a table that is too wide keeps %q", narrow.Header)
	}
	for names, want := range map[string]string{"a": "a", "a,b,c": "a; b; c",
		"a,b,c,d": "a and 3 others"} {
		if got := whichPoints(strings.Split(names, ",")); got != want {
			t.Errorf("points %s are called %q", names, got)
		}
	}
	for text, want := range map[string]string{"1.23456789/s": "1.235/s", "12345.678": "12346",
		"$1.23456/h": "$1.23456/h", "name": "name", "0.33333333": "0.3333", "2/s": "2/s"} {
		if got := shortNumber(text); got != want {
			t.Errorf("%s is shortened to %s, want %s", text, got, want)
		}
	}
	for _, c := range []struct {
		m    scenarios.Metric
		x    float64
		want string
	}{{scenarios.Metric{Unit: scenarios.Milliseconds}, 1500, "1.5 s"},
		{scenarios.Metric{Unit: scenarios.Share}, 0.5, "50%"},
		{scenarios.Metric{}, 1234.4, "1,234"},
		{scenarios.Metric{Unit: scenarios.Share}, math.NaN(), "–"}} {
		if got := planner.Words(c.m.Unit, c.x); got != c.want {
			t.Errorf("%g is %q, want %q", c.x, got, c.want)
		}
	}
	if label(scenarios.Metric{Title: "x", Unit: scenarios.Share}) != "x" ||
		label(scenarios.Metric{Title: "x"}) != "x" ||
		label(scenarios.Metric{Title: "x", Unit: scenarios.Milliseconds}) != "x (ms)" {
		t.Error("axes are labelled otherwise")
	}
	if v, all := common(nil, func(*Row) string { return "x" }); v != "" || !all {
		t.Errorf("what no rows have in common: %q, %v", v, all)
	}
}

// Outcomes are put in the order of the grid. Where some are priced over the whole run, all are, and
// what was kept stays as it is. A grid of which nothing can run is refused, one that failed is not.
func TestResultsByHand(t *testing.T) {
	s := &Sweep{Axes: []planner.Axis{{Key: "k", Values: []string{"1", "2", "3"}}}}
	points, err := planner.Grid(s.Axes)
	testkit.OK(t, err)
	keys := []string{"x", "y", "x"}
	at := func(v float64, over string) outcome {
		return outcome{Priced: over,
			Values: map[string]float64{frontCost: v, frontLatency: 5},
			Whole:  map[string]float64{frontCost: 10 * v}}
	}
	for _, c := range []struct {
		other string
		whole bool
	}{{scenarios.OfferedRate, false}, {"over the whole run with its drain", true}, {"", false}} {
		done := map[string]outcome{"x": at(1, scenarios.OfferedRate), "y": at(2, c.other)}
		r, err := s.results(points, keys, done)
		testkit.OK(t, err)
		factor := 1.0
		if c.whole {
			factor = 10
		}
		for i, want := range []float64{1, 2, 1} {
			if got := r.Rows[i].Values[column(frontCost)]; got != want*factor ||
				r.Rows[i].Point.String() != points[i].String() {
				t.Errorf("%q: point %d is %+v", c.other, i, got)
			}
		}
		if !r.Rows[0].Pareto || r.Rows[1].Pareto {
			t.Errorf("%q: the cheaper of two that are as fast is not the front: %+v", c.other, r)
		}
		if r.WholeRuns != c.whole || done["x"].Values[frontCost] != 1 {
			t.Errorf("%q: %+v", c.other, r.WholeRuns)
		}
	}
	bad := map[string]outcome{"x": {Reason: "does not fit"}, "y": {Reason: "too small"}}
	// The reason names its key where the point does not.
	first := points[0].String()
	for key, want := range map[string]string{"": first + ": does not fit",
		points[0][0].Key: first + ": does not fit",
		"memory.tokens":  first + ": memory.tokens: does not fit"} {
		bad["x"] = outcome{Key: key, Reason: "does not fit"}
		_, err := s.results(points, keys, bad)
		if !scenarios.IsInputError(err) || !strings.HasSuffix(err.Error(), "the first, "+want) {
			t.Errorf("nothing can run: %v", err)
		}
	}
	if failures(bad) != nil {
		t.Error("what cannot run has failed")
	}
	bad["y"] = outcome{Reason: "broken", failed: true}
	r, err := s.results(points, keys, bad)
	if err != nil || r.Failed() != 1 || failures(bad) == nil ||
		failures(bad).Error() != planner.ShardFailed(1).Error() {
		t.Errorf("a failed point: %v, %v", err, failures(bad))
	}
	row := newRow(points[0], outcome{Values: map[string]float64{}})
	for i, m := range planner.Metrics() {
		if v := row.Values[i]; v != m.Absent && !math.IsNaN(m.Absent) ||
			row.has(i) == math.IsNaN(m.Absent) {
			t.Errorf("%s that a run does not have is %g", m.Name, v)
		}
	}
}

// Shards do each run once, together as many as one machine does; what they leave is counted, and
// the whole comes from the journals alone.
func TestShardsDoEveryRunOnce(t *testing.T) {
	dir := t.TempDir()
	s := Sweep{Name: "chat", Set: []string{"workload.requests=5"}, Axes: []planner.Axis{
		{Key: "workload.rate", Values: []string{"1/s", "2/s", "3/s"}},
		{Key: "name", Values: []string{"one", "two"}}}} // names make no difference
	j, err := planner.OpenJournal(filepath.Join(dir, "journal.jsonl"))
	testkit.OK(t, err)
	defer j.Close()
	options := func(shard planner.Shard) (o Options, started *int) {
		started = new(int)
		return Options{Journal: j, Shard: shard, Queue: queue.Config{Workers: 1},
			Started: func(n int) { *started = n }}, started
	}
	for i, want := range []int{2, 1} {
		o, _ := options(planner.Shard{})
		o.Recorded = true
		if _, err := s.Run(t.Context(), o); !errors.Is(err, planner.MissingShards{Runs: 3 - 2*i}) {
			t.Errorf("before shard %d: %v", i, err)
		}
		o, started := options(planner.Shard{Index: i, Of: 2})
		if r, err := s.Run(t.Context(), o); err != nil || r != nil || *started != want {
			t.Errorf("shard %d: %d runs, %v, %v, want %d runs", i, *started, r, err, want)
		}
	}
	o, started := options(planner.Shard{})
	o.Recorded = true
	merged, err := s.Run(t.Context(), o)
	testkit.OK(t, err)
	alone, err := s.Run(t.Context(), Options{Queue: queue.Config{Workers: 2}})
	testkit.OK(t, err)
	var one, other bytes.Buffer
	testkit.OK(t, merged.WriteCSV(&one))
	testkit.OK(t, alone.WriteCSV(&other))
	if !bytes.Equal(one.Bytes(), other.Bytes()) || *started != 0 || j.Len() != 3 {
		t.Errorf("%d runs after the merge, %d kept; the files\n%s\n%s", *started, j.Len(),
			one.Bytes(), other.Bytes())
	}
	values := map[string]float64{}
	for i, m := range planner.Metrics() {
		if alone.Rows[0].has(i) {
			values[m.Name] = alone.Rows[0].Values[i]
		}
	}
	if o := (outcome{Values: values}); o.Check() != nil || alone.Scenario == "" ||
		alone.SLO != alone.SLO.Complete() {
		t.Errorf("%v: %+v", o.Check(), alone)
	}
}
