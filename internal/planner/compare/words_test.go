package compare

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Numbers are printed with the digits that they have room for, with a sign where they differ.
func TestNumbersAsPrinted(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][2]string{
		{signed(9.96), "+10"}, {signed(10.4), "+10"}, {signed(-12.6), "-13"},
		{signed(1.26), "+1.3"},
		{signed(0), "+0"}, {signed(10), "+10"}, {signed(-9.44), "-9.4"},
		{times(10.4), "10"}, {times(9.94), "9.9"}, {times(1234), "1,234"}, {times(10), "10"},
		{fewer(0.25), "4"}, {fewer(0), "∞"}, {fewer(-1), "∞"}, {fewer(0.01), "100"},
		{share(3, 0), "+3"}, {share(100, 100), "2 times"}, {share(99, 100), "+99%"},
		{share(-50, 100), "2 times less"}, {share(-49, 100), "-49%"}, {share(-100, 100), "-100%"},
		{share(-120, 100), "-120%"}, {share(5, -100), "+5%"}, {share(900, 100), "10 times"},
		{points(stats.Interval{Mean: 2, Half: 0.5}), "+2 points [+1.5, +2.5]"},
		{points(stats.Interval{Mean: -2}), "-2 points"},
		{points(stats.Interval{Mean: 3, Half: inf}), "+3 points"},
		{relative(stats.Interval{Mean: -5, Half: 200}, -100), "-5% [-100, +195]"},
		{relative(stats.Interval{Mean: 40}, 0), "+40"},
		{relative(stats.Interval{Mean: 100, Half: 50}, 100), "2 times [1.5, 2.5]"},
		{relative(stats.Interval{Mean: -50, Half: 25}, 100), "2 times less [1.3, 4]"},
		{relative(stats.Interval{Mean: -90, Half: 20}, 100), "10 times less [3.3, ∞]"},
		{relative(stats.Interval{Mean: 5, Half: 2}, 100), "+5% [+3, +7]"},
		{relative(stats.Interval{Mean: 40, Half: 2}, 0), "+40 [+38, +42]"},
		{amount(math.NaN(), "ms"), "–"}, {amount(1500, "ms"), units.FormatDuration(1.5)},
		{amount(-2.5, "$"), "-$2.5"}, {amount(2.5, "$"), "$2.5"}, {amount(0, "$"), "$0"},
		{amount(12, "%"), "12%"}, {amount(3, "1/s"), "3/s"}, {amount(4, "Wh"), "4 Wh"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// A range is cut at nothing, except for a figure that may be negative; shares are of the first.
func TestSpansAsPrinted(t *testing.T) {
	for _, c := range []struct {
		name, want string
		low, high  float64
		base       float64
	}{
		{"mean_ttft_ms", "-10% to +5%", -10, 5, 100},
		{"mean_ttft_ms", "-100% to +5%", -300, 5, 100},
		{"mean_ttft_ms", "-100% to -100%", -300, -200, 100},
		{"mean_ttft_ms", "+1 to +2", 1, 2, 0},
		{"margin", "-300 to +5", -300, 5, 100},
	} {
		f := &Figure{Name: c.name, Range: &scenarios.Range{Low: c.low, High: c.high}}
		if got := f.span(c.base); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		f.Difference.Mean = math.NaN()
		if f.span(c.base) != "" || f.difference(c.base) != "–" || f.bar(c.base) != "" {
			t.Errorf("%s: a difference is printed that is not there", c.name)
		}
	}
	share := &Figure{Name: "slo_attainment", Unit: "%", Difference: stats.Interval{Mean: -3}}
	if got := share.difference(50); got != "-3 points" {
		t.Errorf("a difference of percentages is %q", got)
	}
	f := &Figure{Name: "mean_ttft_ms", BeyondNoise: true, Difference: stats.Interval{Mean: 20}}
	if (&Figure{}).span(1) != "" || f.bar(100) != doc.Change(0.2, 5, true) ||
		f.bar(-100) != doc.Change(0.2, 5, true) || f.bar(0) != doc.Change(20, 5, true) {
		t.Error("bars are not shares of the first")
	}
	if f.BeyondNoise = false; f.bar(50) != doc.Change(0.4, 5, false) {
		t.Error("noise is not drawn lightly")
	}
}

// A verdict is the first that holds of: no figure, equal, as offered, one run, noise, unsure,
// better and worse.
func TestVerdictsInTheirOrder(t *testing.T) {
	f := &Figure{}
	for _, c := range []struct {
		want string
		next func()
	}{
		{"the same", func() { f.Difference.Half = math.Inf(1) }},
		{"one run", func() { f.Difference.Mean, f.Offered = 1, true }},
		{"as offered", func() { f.Offered = false }},
		{"one run", func() { f.Difference.Half = 0.5 }},
		{"noise", func() { f.BeyondNoise, f.Unsure, f.Better = true, true, true }},
		{"unsure", func() { f.Unsure = false }},
		{"better", func() { f.Better = false }},
		{"worse", func() { f.Difference.Mean = math.NaN() }},
		{"–", func() {}},
	} {
		if got := f.verdict(); got != c.want {
			t.Errorf("%+v: %q, want %q", f, got, c.want)
		}
		c.next()
	}
	for met, want := range map[float64]string{0: "missed", 1: "met", 0.5: "met in 50%"} {
		if got := (&Outcome{SLOMet: met}).slo(); got != want {
			t.Errorf("%g: %q, want %q", met, got, want)
		}
	}
}

// byHand returns a comparison of variants, whose TTFT is 100 ms more each.
func byHand(labels ...string) *Comparison {
	c := &Comparison{Replications: 3, Confidence: 0.95, WarmUp: 17}
	for i, label := range labels {
		x := 100 * float64(i)
		c.Variants = append(c.Variants, Outcome{Label: label, Settled: true, Setup: "a server",
			Evidence: evidence.Evidence{Grade: "measured"}, SLOMet: 1, Figures: []Figure{
				{Name: "p99_ttft_ms", Title: "p99 TTFT", Unit: "ms", BeyondNoise: i > 0,
					Value:      stats.Interval{Mean: 100 + x},
					Difference: stats.Interval{Mean: x, Half: 1}},
				{Name: "slo_attainment", Title: "SLO met", Unit: "%",
					Value:      stats.Interval{Mean: 50 + x/10},
					Difference: stats.Interval{Mean: x / 10, Half: 1}, BeyondNoise: i > 0},
			}})
	}
	return c
}

// said returns the words of a document.
func said(p doc.Blocks) (all string) {
	for _, b := range p {
		all += b.Words + "\n" + strings.Join(b.Header, "|") + "\n"
		for _, row := range b.Rows {
			all += strings.Join(row, "|") + "\n"
		}
	}
	return all
}

// A comparison says each variant against the first in a table, what the figures rest on where it
// holds and not else, and each gate.
func TestWhatAComparisonSays(t *testing.T) {
	for _, c := range []struct {
		words  string
		change func(c *Comparison)
		always bool // whether it is said unless it is changed
	}{
		{"The results do not depend on the seed",
			func(c *Comparison) { c.Replications = 1 }, false},
		{"“Unsure” differences", func(c *Comparison) { c.Variants[2].Figures[1].Unsure = true },
			false},
		{"A recorded trace is one sample", func(c *Comparison) { c.Recorded = true }, false},
		{"Whole runs are compared: b has outages.",
			func(c *Comparison) { c.NoWarmUp = "b has outages" }, false},
		{"The first 17 requests of every run are warm-up",
			func(c *Comparison) { c.NoWarmUp = "b has outages" }, true},
		{"3 runs of each with the same 3 seeds", func(c *Comparison) { c.Replications = 1 }, true},
		{"at 95% confidence", func(c *Comparison) { c.Confidence = 0.5 }, true},
		{"Note: c does not reach a steady state",
			func(c *Comparison) { c.Variants[2].Settled = false }, false},
		{"Note: a does not reach a steady state",
			func(c *Comparison) { c.Variants[0].Settled = false }, false},
		{"The limit that binds: x of the first,  of this.",
			func(c *Comparison) { c.Variants[0].Binds = "x" }, false},
		{"no key differs", func(c *Comparison) {
			for i := range c.Variants {
				c.Variants[i].Changes = []Change{{Key: "k", To: "1"}}
			}
		}, true},
		{"p99 TTFT|100 ms|300 ms|3 times [3, 3]",
			func(c *Comparison) { c.Variants[2].Figures = nil }, true},
		{"SLO met|50%|60%|+10 points [+9, +11]",
			func(c *Comparison) { c.Variants[1].Figures = nil }, true},
		{"\nb against a\n", func(c *Comparison) { c.Variants[1].Label = "e" }, true},
		{"\nc against a\n", func(c *Comparison) { c.Variants[2].Label = "e" }, true},
		{"a against a", func(c *Comparison) {}, false},
		{"Which change matters?", func(c *Comparison) {
			c.Variants[1].Effects = []Effect{{Impossible: "no"}}
		}, false},
	} {
		comparison := byHand("a", "b", "c")
		before := strings.Contains(said(comparison.Blocks(nil)), c.words)
		c.change(comparison)
		after := strings.Contains(said(comparison.Blocks(nil)), c.words)
		if before != c.always || after == before && c.words != "a against a" {
			t.Errorf("%q is said %v, and after the change %v, of\n%s", c.words, before, after,
				said(byHand("a", "b", "c").Blocks(nil)))
		}
	}
	recorded := byHand("a", "b")
	recorded.Recorded, recorded.Replications = true, 1
	if strings.Contains(said(recorded.Blocks(nil)), "recorded trace") {
		t.Error("one run is said to have intervals")
	}
	checks := []Check{{Gate: Gate{Text: "x > 1"}, Variant: "b", Failed: true, Words: "it is 2"},
		{Gate: Gate{Text: "y > 1"}, Variant: "b", Words: "it is 0"}}
	plain, gated := byHand("a", "b").Blocks(nil), byHand("a", "b").Blocks(checks)
	if len(gated) != len(plain)+3 || gated[len(plain)].Kind != doc.Gap ||
		!strings.Contains(said(gated), "FAILED: x > 1 on b: it is 2\n") ||
		!strings.Contains(said(gated), "kept: y > 1 on b: it is 0\n") {
		t.Errorf("gates are said as %s", said(gated[len(plain):]))
	}
	var out bytes.Buffer
	testkit.OK(t, byHand("a", "b").WriteMarkdown(&out, checks))
	for _, words := range []string{"b against a", "FAILED", "kept"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("no %q in Markdown", words)
		}
	}
	out.Reset()
	testkit.OK(t, WriteJUnit(&out, checks))
	for _, words := range []string{`tests="2" failures="1"`,
		`<testcase classname="b" name="x &gt; 1">`, `<failure message="it is 2">`,
		"<system-out>it is 0</system-out>"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("no %q in %s", words, out.String())
		}
	}
	if p := byHand("a", "b").Blocks(nil); p[0].Kind != doc.Heading || p[0].Words != "a" ||
		p[1].Words != "a server" {
		t.Errorf("it begins with %+v", p[:2])
	}
}

// A gap parts the variants, their effects and what the figures rest on. In the table of a variant
// the columns of words are aligned to the left, the range is for wide media, and the bar, which is
// drawn, is for the terminal.
func TestLayout(t *testing.T) {
	c := byHand("a", "b", "c")
	v := &c.Variants[2]
	v.Effects = []Effect{{Change: Change{Key: "k"}, Figures: v.Figures}}
	v.Figures[0].Range = &scenarios.Range{Low: 10, High: 20}
	var kinds []string
	var tables []doc.Block
	names := map[doc.Kind]string{doc.Gap: "/", doc.Heading: "H", doc.Text: "t", doc.Item: "i",
		doc.Table: "T"}
	for _, b := range c.Blocks(nil) {
		kinds = append(kinds, names[b.Kind])
		if b.Kind == doc.Table {
			tables = append(tables, b)
		}
	}
	if got, want := strings.Join(kinds, ""), "Htt/HiT/HiT/tT/ttt"; got != want {
		t.Errorf("the parts are %s, want %s", got, want)
	}
	table, effects := tables[1], tables[2]
	if !slices.Equal(table.Left, []int{0, 6}) || !slices.Equal(effects.Left, []int{0}) ||
		len(table.Wide) != 1 || len(table.Drawn) != 1 {
		t.Fatalf("columns of words %v and %v, wide %v, drawn %v", table.Left, effects.Left,
			table.Wide, table.Drawn)
	}
	if row := table.Rows[0]; row[table.Wide[0]] != "+10% to +20%" ||
		!strings.Contains(row[table.Drawn[0]], "│") || row[6] != "worse" {
		t.Errorf("row %q, wide %v, drawn %v", row, table.Wide, table.Drawn)
	}
}

// The title of a page has the names of two variants, and the number of more.
func TestTitlesOfPages(t *testing.T) {
	short := strings.Replace(base, "requests: 600", "requests: 9", 1)
	runs := run(t, 2, variant("a", short), variant("b", short)).runs
	for _, c := range []struct {
		labels []string
		want   string
	}{{[]string{"aa", "bb"}, "bb against aa"}, {[]string{"aa", "bb", "cc"}, "aa against 2 others"},
		{[]string{"aa"}, "aa and what changes"}} {
		var out bytes.Buffer
		comparison := byHand(c.labels...)
		comparison.runs = runs
		testkit.OK(t, comparison.WritePage(&out))
		if !strings.Contains(out.String(), "<title>"+c.want) {
			t.Errorf("no title %q in %.300s", c.want, out.String())
		}
	}
}

// The effects of changes are a table of the figures that matter, a row for each change that can be
// made alone; noise is called so.
func TestEffectsAsPrinted(t *testing.T) {
	c := byHand("a", "b")
	v := &c.Variants[1]
	figures := func(beyond bool) []Figure {
		list := slices.Clone(v.Figures)
		list[0].BeyondNoise = beyond
		list[1].Difference.Half = math.Inf(1)
		list[1].BeyondNoise = false // one run is not called noise
		return append(list, Figure{Name: "mean_ttft_ms", Title: "no column"},
			Figure{Name: "output_throughput", Title: "tokens/s",
				Difference: stats.Interval{Mean: math.NaN()}})
	}
	c.Variants[0].Figures = append(c.Variants[0].Figures, Figure{}, Figure{})
	v.Effects = []Effect{
		{Change: Change{Key: "x"}, Impossible: "no memory"},
		{Change: Change{Key: "y"}, Figures: figures(true)},
		{Change: Change{Key: "z.p"}, With: []Change{{Key: "z.q"}}, Figures: figures(false)},
		{Change: Change{Key: "w"}, Figures: figures(true)},
	}
	var p doc.Blocks
	c.addEffects(&p, v)
	want := "Which change matters? Each alone:\n\n" +
		"\nchange|p99 TTFT|tokens/s|SLO met\ny|2 times|–|+10 points\nz.p, q|noise|–|+10 points\n" +
		"w|2 times|–|+10 points\n" +
		"x cannot be changed alone: no memory\n\n"
	if got := said(p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What a comparison of two records says, by hand.
func TestBetweenByHand(t *testing.T) {
	kept := func(ttft, cost, share, flow float64) Kept {
		return Kept{KeepsUp: true, Figures: map[string]float64{"mean_ttft_ms": ttft,
			"slo_attainment.all": share, "cost_per_million_output_tokens": cost,
			"output_throughput": flow}, Ranges: map[string]scenarios.Range{
			"mean_ttft_ms": {Low: ttft - 1, High: ttft + 1}}}
	}
	a, b := kept(100, 2, 0.5, 10), kept(102, 3, 0.6, 20)
	var got []string
	for _, l := range Between(a, b, "$") {
		got = append(got, strings.Join([]string{l.One, l.Other, l.Difference, l.Verdict}, "|"))
	}
	want := []string{"100 ms|102 ms|+2%|unsure", "10/s|20/s|2 times|as offered",
		"50%|60%|+10 points|one run", "$2|$3|+50%|one run"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Ranges["mean_ttft_ms"] = scenarios.Range{Low: 101, High: 103} // touches 99 to 101
	for _, pair := range [][2]Kept{{a, b}, {b, a}} {
		if l := Between(pair[0], pair[1], "$")[0]; l.Verdict != "unsure" {
			t.Errorf("ranges that touch: %+v", l)
		}
	}
	b.Ranges["mean_ttft_ms"] = scenarios.Range{Low: 101.5, High: 103}
	if l := Between(a, b, "$")[0]; l.Verdict != "worse" {
		t.Errorf("ranges apart: %+v", l)
	}
	b.KeepsUp = false
	if l := Between(a, b, "$")[1]; l.Verdict != "one run" {
		t.Errorf("a run that does not keep up: %+v", l)
	}
	delete(b.Figures, "mean_ttft_ms")
	if n := len(Between(a, b, "$")); n != 3 {
		t.Errorf("%d lines of figures that both have, want 3", n)
	}
}

// Changes of the arrivals have a meaning only together; every change is in one group, and the
// groups keep the order.
func TestGroupsOfChanges(t *testing.T) {
	for list, want := range map[string]string{
		"model,workload.rate,workload.requests": "model; workload.rate; workload.requests",
		"model,workload.arrivals,workload.prompt,workload.rate": "model; " +
			"workload.arrivals, rate; workload.prompt",
		"workload.arrivals,workload.duration,workload.requests": "workload.arrivals, " +
			"duration, requests",
		"workload.arrivals": "workload.arrivals",
		"batching.a,workload.arrivals,workload.duration,x.y": "batching.a; " +
			"workload.arrivals, duration; x.y",
	} {
		var changes []Change
		for _, key := range strings.Split(list, ",") {
			changes = append(changes, Change{Key: key})
		}
		var got []string
		for _, group := range groupDependent(changes) {
			got = append(got, keys(group))
		}
		if words := strings.Join(got, "; "); words != want {
			t.Errorf("%s: groups %q, want %q", list, words, want)
		}
	}
}

// Taking every change of b into a, one after the other, gives b; each alone changes its own key
// only, and a stays as it is.
func TestChangesLeadFromOneToTheOther(t *testing.T) {
	a := tree{"model": "x", "seed": 1, "workload": tree{"rate": "1/s", "prompt": 5},
		"slo": tree{"ttft": 1}, "hardware": "h100"}
	b := tree{"model": "y", "seed": 1, "workload": tree{"rate": "2/s", "output": 7},
		"replicas": 3, "hardware": tree{"price": 2}}
	before := fmt.Sprint(a)
	merged, list := a, changes(a, b)
	for _, c := range list {
		one := with(a, b, c.Key)
		if only := changes(a, one); len(only) != 1 || only[0] != c {
			t.Errorf("%v alone changes %v", c, only)
		}
		merged = with(merged, b, c.Key)
	}
	if named := changes(tree{"name": "a"}, tree{"name": "b"}); named != nil {
		t.Errorf("names are changes: %v", named)
	}
	if !reflect.DeepEqual(merged, b) || len(list) != 7 || fmt.Sprint(a) != before {
		t.Errorf("after %v: %v, want %v", list, merged, b)
	}
	for _, c := range []struct {
		change Change
		want   string
	}{{Change{"k", "1", ""}, "k as by default instead of 1"},
		{Change{"k", "", "2"}, "k 2 instead of the default"},
		{Change{"k", "1", "2"}, "k 2 instead of 1"}} {
		if c.change.String() != c.want {
			t.Errorf("%q, want %q", c.change, c.want)
		}
	}
	for _, c := range []struct {
		v, meant any
		want     tree
		ok       bool
	}{
		{tree{"a": 1}, nil, tree{"a": 1}, true}, {nil, tree{"a": 1}, tree{}, true},
		{nil, "x", tree{}, false}, {"h100", tree{"a": 1, "b": "h100"}, tree{"b": "h100"}, true},
		{"h100", tree{"b": "h200"}, nil, false}, {7, tree{"b": 7}, nil, false},
	} {
		if got, ok := mapping(c.v, c.meant); ok != c.ok || ok && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v as a mapping: %v, %v", c.v, got, ok)
		}
	}
	if words(nil) != "" || words("x") != "x" || words([]int{1}) != "[1]" ||
		words(math.Inf) == "" {
		t.Error("values are not written on a line")
	}
}

// Files of one name are told apart by their folders, and no others; every point of a grid is a
// variant, and an override of all stays before its own.
func TestLabelsOfVariants(t *testing.T) {
	labels := func(list []Variant) (names []string) {
		for _, v := range list {
			names = append(names, v.Label)
		}
		return names
	}
	if got, want := labels(Files([]string{"x/a.yaml", "y/a.yaml", "y/b.yaml", "chat"}, nil)),
		[]string{"x/a", "y/a", "b", "chat"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	common := append(make([]string, 0, 9), "seed=5")
	list := Points("chat", common, []planner.Point{{{Key: "workload.requests", Value: "7"}},
		{{Key: "workload.requests", Value: "8"}, {Key: "seed", Value: "6"}}})
	if got, want := labels(list), []string{"workload.requests=7",
		"workload.requests=8 seed=6"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	for i, v := range append(list, Files([]string{"chat"}, []string{"seed=5",
		"workload.requests=9"})...) {
		f, err := v.Load()
		testkit.OK(t, err)
		if w := f.Scenario; w.Workload.Requests != int64(7+i) || w.Seed != []uint64{5, 6, 5}[i] {
			t.Errorf("%s: %d requests, seed %d", v.Label, w.Workload.Requests, w.Seed)
		}
	}
}
