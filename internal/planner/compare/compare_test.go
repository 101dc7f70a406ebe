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

// An interval that is not known is written as null, and read back; a figure that is not there is
// not written.
func TestOneRunHasNoInterval(t *testing.T) {
	one := stats.Mean([]float64{3}, 0.95)
	text, err := json.Marshal(one)
	if err != nil || string(text) != `{"mean":3,"half_width":null}` {
		t.Errorf("%s, %v", text, err)
	}
	none := Figure{Value: stats.Interval{Mean: math.NaN()},
		Difference: stats.Interval{Mean: math.NaN()}}
	if text, err := json.Marshal(none); err != nil || strings.Contains(string(text), "value") {
		t.Errorf("a figure that is not there: %s, %v", text, err)
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

func TestOneVariantIsRefused(t *testing.T) {
	_, err := Run(context.Background(), []Variant{variant("a", base)},
		Options{Replications: 2, Confidence: 0.95, Workers: 1})
	if !scenarios.IsInputError(err) {
		t.Errorf("error %v, want one of the input", err)
	}
}
