package compare

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

const base = `
model: llama-3.1-8b
hardware: h100-sxm
batching: {max-sequences: 256}
workload: {rate: 12/s, prompt: 400, output: 120, requests: 600}
slo: {ttft: 1s, tpot: 50ms}
`

func variant(label, text string) Variant {
	return Variant{Label: label, Name: label, Load: func() (*scenarios.File, error) {
		return scenarios.Parse(label, []byte(text))
	}}
}

func run(t *testing.T, workers int, variants ...Variant) *Comparison {
	t.Helper()
	c, err := Run(context.Background(), variants,
		Options{Replications: 4, Confidence: 0.95, Workers: workers})
	testkit.OK(t, err)
	return c
}

func figure(t *testing.T, list []Figure, name string) *Figure {
	t.Helper()
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	t.Fatalf("no figure %s", name)
	return nil
}

// A scenario does not differ from itself, by any figure, by anything.
func TestTheSameDoesNotDiffer(t *testing.T) {
	c := run(t, 2, variant("a", base), variant("b", base))
	if len(c.Variants[1].Changes) > 0 {
		t.Errorf("changes: %v", c.Variants[1].Changes)
	}
	for _, f := range c.Variants[1].Figures {
		if f.Difference.Mean != 0 || f.Difference.Half != 0 || f.BeyondNoise {
			t.Errorf("%s differs: %+v", f.Name, f)
		}
	}
}

// Every figure is a number, also of a run shorter than another's warm-up, except for the gaps of
// answers without a second token: there are none.
func TestFiguresAreNumbers(t *testing.T) {
	file, err := scenarios.Parse("short",
		[]byte(strings.NewReplacer("output: 120, requests: 600",
			"output: 1, requests: 5").Replace(base)))
	testkit.OK(t, err)
	run, err := planner.Observe(context.Background(), file)
	testkit.OK(t, err)
	w := newWindow(run, 350)
	if len(w.latencies["ttft"]) != 3 {
		t.Errorf("%d of 5 requests are looked at, want the last 3", len(w.latencies["ttft"]))
	}
	for _, m := range measures(false) {
		gaps := strings.Contains(m.Name, "tpot") || strings.Contains(m.Name, "itl")
		if v := m.of(w); math.IsNaN(v) != gaps || math.IsInf(v, 0) {
			t.Errorf("%s is %g", m.Name, v)
		}
	}
}

// What an accelerator without a price costs is absent, and neither better nor worse.
func TestWithoutAPriceThereIsNoCost(t *testing.T) {
	c := run(t, 2, variant("a", base),
		variant("b", strings.Replace(base, "h100-sxm", "mi355x", 1)))
	f := figure(t, c.Variants[1].Figures, "cost_per_million_output_tokens")
	if !f.Value.IsZero() || f.Better || f.verdict() != "–" || f.Range != nil {
		t.Errorf("found %+v, which is %s", f, f.verdict())
	}
	text, err := json.Marshal(f)
	if err != nil || strings.Contains(string(text), "value") {
		t.Errorf("%s, %v: want no value", text, err)
	}
}

// Batches that take whole prompts hold up decoding sequences: TPOT hides it, and gaps show it.
func TestGapsShowWhatTPOTHides(t *testing.T) {
	long := strings.NewReplacer("batching: {max-sequences: 256}", "batching: orca", "prompt: 400",
		"prompt: 3000", "rate: 12/s", "rate: 5/s").Replace(base)
	c := run(t, 2, variant("orca", long),
		variant("sarathi", strings.Replace(long, "batching: orca", "batching: sarathi", 1)))
	gap := figure(t, c.Variants[1].Figures, "p99_itl_ms")
	tpot := figure(t, c.Variants[1].Figures, "p99_tpot_ms")
	if !gap.Better || gap.Difference.Mean > 5*tpot.Difference.Mean {
		t.Errorf("gaps %s (%s), TPOT %s (%s)", gap.difference(c.Variants[0].Figures[4].Value.Mean),
			gap.verdict(), tpot.difference(c.Variants[0].Figures[3].Value.Mean), tpot.verdict())
	}
}

// Of two changes the one that matters is named: a slower accelerator is worse beyond noise, a limit
// that is never reached is not.
func TestTheChangeThatMattersIsNamed(t *testing.T) {
	other := strings.NewReplacer("h100-sxm", "a100-80gb-sxm", "256", "250").Replace(base)
	v := run(t, 2, variant("a", base), variant("b", other)).Variants[1]
	if len(v.Changes) != 2 || len(v.Effects) != 2 {
		t.Fatalf("changes %v, effects %v, want two", v.Changes, v.Effects)
	}
	for _, e := range v.Effects {
		f := figure(t, e.Figures, "p99_tpot_ms")
		if matters := e.Change.Key == "hardware"; f.BeyondNoise != matters || f.Better {
			t.Errorf("%v: %+v, want beyond noise %v, and no better", e.Change, f, matters)
		}
	}
	if f := figure(t, v.Figures, "mean_tpot_ms"); !f.BeyondNoise || f.Better ||
		f.Difference.Mean <= 0 {
		t.Errorf("the slower accelerator is not slower: %+v", f)
	}
}

// Common random numbers make differences surer than the values are.
func TestPairingNarrowsTheInterval(t *testing.T) {
	c := run(t, 2, variant("a", base),
		variant("b", strings.ReplaceAll(base, "rate: 12/s", "rate: 13/s")))
	f := figure(t, c.Variants[1].Figures, "mean_e2el_ms")
	if f.Difference.Half >= f.Value.Half {
		t.Errorf("the difference is ± %g, the value ± %g", f.Difference.Half, f.Value.Half)
	}
}

func TestTheOutcomeDoesNotDependOnWorkers(t *testing.T) {
	points, err := planner.Grid([]planner.Axis{
		{Key: "batching.token-budget", Values: []string{"512", "2048"}},
		{Key: "seed", Values: []string{"1", "2"}}})
	testkit.OK(t, err)
	variants := Points("chat", []string{"workload.duration=20s"}, points)
	if one, four := run(t, 1, variants...), run(t, 4, variants...); !reflect.DeepEqual(one.Variants,
		four.Variants) {
		t.Error("1 and 4 workers give different outcomes")
	}
}

func TestChanges(t *testing.T) {
	a := tree{"model": "x", "name": "one", "workload": tree{"rate": "1/s", "prompt": 5},
		"hardware": "h100"}
	b := tree{"model": "x", "name": "two", "workload": tree{"rate": "2/s", "prompt": 5,
		"output": 7}, "hardware": tree{"accelerator": "h100", "price": "$1/h"}}
	var got []string
	for _, c := range changes(a, b) {
		got = append(got, c.String())
	}
	want := []string{
		`hardware {"accelerator":"h100","price":"$1/h"} instead of h100`,
		"workload.output 7 instead of the default", "workload.rate 2/s instead of 1/s",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An interval that is not known is written as null, and read back.
func TestOneRunHasNoInterval(t *testing.T) {
	one := stats.Mean([]float64{3}, 0.95)
	text, err := json.Marshal(one)
	if err != nil || string(text) != `{"mean":3,"half_width":null}` {
		t.Errorf("%s, %v", text, err)
	}
	var back stats.Interval
	if err := json.Unmarshal(text, &back); err != nil || back != one || back.Excludes(0) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// A run whose rate changes has no start that could be left out.
func TestNothingIsLeftOutOfAnIncident(t *testing.T) {
	outage := base + "fleet: {retries: 2, outages: [{replica: 0, at: 5s, for: 2s}]}\nreplicas: 2\n"
	c := run(t, 2, variant("a", base), variant("b", outage))
	if c.WarmUp != 0 || c.NoWarmUp != "b has outages" {
		t.Errorf("%d requests are left out, because %q", c.WarmUp, c.NoWarmUp)
	}
}

// Ratios are printed for large changes, percentages for small ones.
func TestRelative(t *testing.T) {
	for _, c := range []struct {
		d    stats.Interval
		base float64
		want string
	}{
		{stats.Interval{Mean: 3, Half: 1.1}, 1, "4 times [2.9, 5.1]"},
		{stats.Interval{Mean: -98, Half: 1}, 100, "50 times less [33, 100]"},
		{stats.Interval{Mean: 5, Half: 2}, 100, "+5% [+3, +7]"},
		{stats.Interval{Mean: -90, Half: 20}, 100, "10 times less [3.3, ∞]"},
		{stats.Interval{Mean: 5, Half: math.Inf(1)}, 100, "+5%"},
		{stats.Interval{Mean: 40, Half: 2}, 1, "41 times [39, 43]"},
		{stats.Interval{Mean: 40, Half: 2}, 0, "+40 [+38, +42]"},
	} {
		if got := relative(c.d, c.base); got != c.want {
			t.Errorf("relative(%v, %g) = %q, want %q", c.d, c.base, got, c.want)
		}
	}
}

func TestOneVariantIsRefused(t *testing.T) {
	_, err := Run(context.Background(), []Variant{variant("a", base)},
		Options{Replications: 2, Confidence: 0.95, Workers: 1})
	if !scenarios.IsInputError(err) {
		t.Errorf("error %v, want one of the input", err)
	}
}

// Two kinds of accelerators differ by more than noise, and by less than what predictions for them
// may be wrong by, where their prices are as far apart as their speeds. Two settings of one server
// share their errors, so that a difference that is more than noise is sure.
func TestDifferencesWithinWhatPredictionsMayBeWrongBy(t *testing.T) {
	figure := func(vary, name string) *Figure {
		axis, err := planner.ParseAxis(vary)
		testkit.OK(t, err)
		points, err := planner.Grid([]planner.Axis{axis})
		testkit.OK(t, err)
		variants := Points("chat", []string{"workload.duration=30s", "workload.rate=4/s"}, points)
		c, err := Run(t.Context(), variants, Options{Replications: 4, Confidence: 0.95, Workers: 2})
		testkit.OK(t, err)
		for i := range c.Variants[1].Figures {
			if f := &c.Variants[1].Figures[i]; f.Name == name {
				return f
			}
		}
		t.Fatalf("no figure %s", name)
		return nil
	}
	if f := figure("hardware=h200-sxm,mi300x", "mean_tpot_ms"); !f.Unsure || f.Better ||
		f.Range.Low > 0 || f.Range.High < 0 {
		t.Errorf("H200 against MI300X: %+v, want more than noise and unsure", f)
	}
	if f := figure("engine.step=1ms,1.3ms", "mean_tpot_ms"); f.Unsure || !f.BeyondNoise {
		t.Errorf("0.3 ms more a step on one server: %+v, want sure", f)
	}
}
