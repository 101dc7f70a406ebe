package tuning

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// The outcome of an option by hand: means over its runs, the share that meets the SLO, and the
// figure of the goal, with its own sign where more is better.
func TestOutcomeByHand(t *testing.T) {
	s := &tuner{menu: menuOf(2, 2), goal: Goal{Higher: true}}
	one := racing(option{0, 1}, -10, -14, -12, -12)
	for i := range one.runs {
		one.runs[i].met = i == 2
		for k := range one.runs[i].figures {
			one.runs[i].figures[k] = float64(10*k + i)
		}
	}
	o := s.outcome(&one, 0.9)
	want := stats.Mean([]float64{10, 14, 12, 12}, 0.9)
	if math.Abs(o.Value.Mean-want.Mean) > 1e-4 || math.Abs(o.Value.Half-want.Half) > 1e-4 ||
		o.Met != 0.25 || !slices.Equal(o.Set, []string{"d1=1"}) ||
		len(o.Figures) != figureCount {
		t.Errorf("%+v, want a value of %+v", o, want)
	}
	for k, name := range figureNames() {
		if o.Figures[name] != float64(10*k)+1.5 {
			t.Errorf("%s is %g", name, o.Figures[name])
		}
	}
	if s.goal.Higher = false; s.value(&one, 0.9).Mean != -12 {
		t.Error("the figure of a goal of which less is better has another sign")
	}
	if set := s.outcome(&trial{option: option{0, 0}, runs: one.runs}, 0.9).Set; set == nil {
		t.Error("the default's settings are null in JSON")
	}
	r := &scenarios.Result{}
	r.MeanTTFT, r.P99TTFT, r.MeanTPOT, r.P99TPOT, r.MeanE2EL = 1, 2, 3, 4, 5
	r.OutputThroughput, r.Attainment.All = 6, 7
	for i, name := range figureNames() {
		if x := figuresOf(r)[i]; x != float64(i+1) || scenarios.MetricNamed(name).Of(r) != x {
			t.Errorf("%s is %g", name, x)
		}
	}
	if rounded(1.23456789) != 1.23457 || rounded(-1e9-1) != -1e9 {
		t.Error("figures do not have six digits")
	}
}

// What a setting brought is how much worse the best is without it; a setting that cannot be undone
// alone has a reason in its place.
func TestFlagsByHand(t *testing.T) {
	s := &tuner{menu: menuOf(2, 3)}
	best, without := racing(option{1, 2}, 5, 6), racing(option{1, 0}, 8, 9)
	f := s.flag(1, best.option, best, without, 0.9)
	if f.Name != "d1" || f.Default != "own" || f.Tuned != "2" || f.Alone != "" ||
		!slices.Equal(f.Set, []string{"d1=2"}) || f.Without.Mean != 8.5 || f.Bought.Mean != 3 ||
		f.Bought.NoDifference {
		t.Errorf("%+v, without it %+v, bought %+v", f, f.Without, f.Bought)
	}
	without.reason = "no memory"
	if f := s.flag(1, best.option, best, without, 0.9); f.Alone != "no memory" ||
		f.Without != nil || f.Bought != nil {
		t.Errorf("%+v", f)
	}
	text, err := json.Marshal(Gain{stats.Interval{Mean: 3, Half: 1}, true})
	if err != nil || string(text) != `{"mean":3,"half_width":1,"no_difference":true}` {
		t.Errorf("%s, %v", text, err)
	}
}

// The answer's scenario is the best with its defaults filled in: built again it is the same, and
// has the settings. An engine that is known has a command.
func TestTheAnswerCanBeStarted(t *testing.T) {
	s := &tuner{load: loader(small)}
	s.menu = []Dimension{{Choices: []Choice{{}, {Set: []string{"batching.max-sequences=77"}}}}}
	for preset, starts := range map[string]bool{"vllm": true, "eager-2023": false} {
		s.load = loader(small + "name: mine\nengine: " + preset + "\n")
		a := &Answer{}
		testkit.OK(t, s.describe(a, option{1}))
		f, err := scenarios.Parse("again", a.Scenario())
		testkit.OK(t, err)
		again, err := f.Build(policies.Default())
		testkit.OK(t, err)
		testkit.OK(t, again.Source.Close())
		text, err := again.Explain()
		testkit.OK(t, err)
		if n, _ := again.Scenario.Batching.Params["max-sequences"], text; n != "77" ||
			a.Name != "mine" {
			t.Errorf("%q has a batch of %s", a.Name, n)
		}
		if (len(a.Launch) == 1) != starts || (a.Bundle() != nil) != starts || starts &&
			!strings.Contains(a.Launch[0], "77") {
			t.Errorf("%s is started by %q", preset, a.Launch)
		}
	}
}

// answered is an answer by hand.
func answered() *Answer {
	figures := map[string]float64{}
	for i, name := range figureNames() {
		figures[name] = float64(i + 1)
	}
	figures["slo_attainment"] = 0.5
	tuned := map[string]float64{"mean_ttft_ms": 2000}
	return &Answer{Name: "mine", Setup: "a server", Load: "users", Goal: "slo", Title: "use",
		Unit: "%", Default: Outcome{Value: stats.Interval{Mean: 200, Half: 3}, Figures: figures},
		Tuned: Outcome{Value: stats.Interval{Mean: 50, Half: math.Inf(1)}, Met: 1, Figures: tuned},
		Flags: []Flag{{Name: "f", Default: "1", Tuned: "2",
			Without: &stats.Interval{Mean: 70, Half: 2},
			Bought:  &Gain{Interval: stats.Interval{Mean: 20, Half: 2}}},
			{Name: "g", Default: "3", Tuned: "4", Alone: "no memory"},
			{Name: "h", Default: "5", Tuned: "6", Without: &stats.Interval{Mean: 50},
				Bought: &Gain{NoDifference: true}}},
		Launch: []string{"serve it"}, Notes: []string{"note"}, Options: 9, Tried: 9,
		Rungs: []Rung{{9, 200, 1}, {5, 500, 3}}, Seeds: 3, Confidence: 0.95}
}

// said returns the words of a document.
func said(p doc.Blocks) (all string) {
	for _, b := range p {
		all += b.Words + "\n"
		for _, row := range append([][]string{b.Header}, b.Rows...) {
			all += strings.Join(row, "|") + "\n"
		}
	}
	return all
}

// An answer says each fact where it holds, and not else.
func TestWhatAnAnswerSays(t *testing.T) {
	nothing := func(a *Answer) { a.Flags = nil }
	for _, c := range []struct {
		words  string
		always bool
		change func(a *Answer)
	}{
		{"mine\n", true, func(a *Answer) { a.Name = "" }},
		{"a server\n", true, func(a *Answer) { a.Setup = "" }},
		{"users\n", true, func(a *Answer) { a.Load = "" }},
		{"Use: 50% in place of 200% ± 3%", true, nothing},
		{"Use: 200% ± 3%, and no option does better beyond noise", false, nothing},
		{"and the best option, a=1 b=2, is no better", false,
			func(a *Answer) { a.Flags, a.Dropped = nil, []string{"a=1", "b=2"} }},
		{"|default|tuned\n", true, nothing}, {"|default\n", false, nothing},
		{"use|200%|50%\n", true, func(a *Answer) { a.Goal = "latency" }},
		{"runs that meet the SLO|0%|100%\n", true, func(a *Answer) { a.Default.Met = 1 }},
		{"|1 ms|2 s\n", true, func(a *Answer) { a.Tuned.Figures = nil }},
		{"|50%|0%\n", true, func(a *Answer) { a.Default.Figures = nil }},
		{"|6/s|0/s\n", true, func(a *Answer) { a.Default.Figures = nil }},
		{"f|1|2|70%|20% ± 2%\n", true, nothing}, {"g|3|4|–|not alone\n", true, nothing},
		{"h|5|6|50%|no difference\n", true, nothing},
		{"g cannot be undone alone: no memory", true, nothing},
		{"f cannot be undone", false, func(a *Answer) { a.Flags[0].Alone = "no" }},
		{"To start a replica:\n", true, func(a *Answer) { a.Launch = nil }},
		{"  serve it\n", true, func(a *Answer) { a.Launch = nil }},
		{"note\n", true, func(a *Answer) { a.Notes = nil }},
		{"9 options:\n", true, func(a *Answer) { a.Tried = 8 }},
		{"9 options, of which 8 were tried:", false, func(a *Answer) { a.Tried = 8 }},
		{"9 options; 3 of them cannot run:", false, func(a *Answer) {
			a.Unfit = []Unfit{{"x", 2, []string{"a=1", "b=2"}}, {"y", 1, nil}}
		}},
		{"2, such as a=1 b=2: x\n", false,
			func(a *Answer) { a.Unfit = []Unfit{{"x", 2, []string{"a=1", "b=2"}}} }},
		{"and 2 more reasons", false, func(a *Answer) { a.Unfit = make([]Unfit, 7) }},
		{"9 went through 200 requests\n", true, func(a *Answer) { a.Rungs = nil }},
		{"5 went through 500 requests for each of 3 seeds\n", true,
			func(a *Answer) { a.Rungs = nil }},
		{"are from 3 other seeds; intervals are at 95% confidence", true,
			func(a *Answer) { a.Seeds = 1 }},
		{"Nothing in this scenario is random", false, func(a *Answer) { a.Seeds = 1 }},
	} {
		a := answered()
		before := strings.Contains(said(a.Blocks()), c.words)
		c.change(a)
		if after := strings.Contains(said(a.Blocks()), c.words); before != c.always ||
			after == before {
			t.Errorf("%q is said %v, and after the change %v, of\n%s", c.words, before, after,
				said(answered().Blocks()))
		}
	}
	a := answered()
	a.Unfit = make([]Unfit, mostReasons)
	if words := said(a.Blocks()); strings.Contains(words, "more reasons") ||
		strings.Count(words, ", such as ") != mostReasons {
		t.Errorf("%d reasons are not all printed", mostReasons)
	}
	a.Unfit = make([]Unfit, mostReasons+1)
	if n := strings.Count(said(a.Blocks()), ", such as "); n != mostReasons {
		t.Errorf("%d reasons are printed, want %d", n, mostReasons)
	}
	var kinds []string
	for _, b := range answered().Blocks() {
		kinds = append(kinds, map[doc.Kind]string{doc.Gap: "/", doc.Heading: "H", doc.Text: "t",
			doc.Item: "i", doc.Table: "T", doc.Line: "l"}[b.Kind])
		if b.Kind == doc.Table && !slices.Equal(b.Left, []int{0, 1, 2}[:len(b.Left)]) {
			t.Errorf("columns of words %v", b.Left)
		}
	}
	if got, want := strings.Join(kinds, ""), "Htt/t/T/Tt/tli/tiit"; got != want {
		t.Errorf("the parts are %s, want %s", got, want)
	}
}

// Figures have the unit of the goal, and intervals where they are known.
func TestFiguresOfGoals(t *testing.T) {
	for _, c := range []struct {
		unit string
		x    float64
		want string
	}{{"%", 999, "999%"}, {"%", 1000, "10 times"}, {"%", -2000, "-20 times"}, {"%", 12.34, "12.3%"},
		{"ms", 1500, "1.5 s"}, {"ms", -1500, "-1.5 s"}, {"ms", 0, "0 s"},
		{"1/s", 1234.56, "1235/s"}} {
		if got := (&Answer{Unit: c.unit}).number(c.x); got != c.want {
			t.Errorf("%g %s is %q, want %q", c.x, c.unit, got, c.want)
		}
	}
	a := &Answer{Unit: "1/s"}
	for half, want := range map[float64]string{0: "5/s", 1: "5/s ± 1/s", math.Inf(1): "5/s"} {
		if got := a.amount(stats.Interval{Mean: 5, Half: half}); got != want {
			t.Errorf("± %g: %q", half, got)
		}
	}
	if fmt.Sprint(seeds(3, 2), seeds(0, 0)) != "[3 4] []" {
		t.Error("seeds do not count from the first")
	}
}
