package interval

import (
	"context"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

const chat = `
model: llama-3.1-8b
hardware: h100-sxm
workload: {rate: 12/s, prompt: 400, output: 120, requests: 400}
`

// outcome runs the scenario and returns its ranges under a spread of step times.
func outcome(t rapid.TB, spread evidence.Spread, overrides ...string) (*scenarios.Result, *scenarios.Intervals) {
	t.Helper()
	load := func() (*scenarios.File, error) { return scenarios.Parse("chat", []byte(chat), overrides...) }
	f, err := load()
	if err != nil {
		t.Fatal(err)
	}
	simulation, err := f.Build(policies.Default())
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulation.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r.Evidence.Spread = spread
	intervals, err := Of(context.Background(), load, r)
	if err != nil {
		t.Fatal(err)
	}
	return r, intervals
}

// A range holds the figure that it is of, is wider where predictions were further off, and is the
// same each time.
func TestRangesHoldAndGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]string{"2/s", "12/s", "40/s"}).Draw(t, "rate")
		narrow := evidence.Spread{TPOT: rapid.Float64Range(0, 0.1).Draw(t, "narrow")}
		wide := evidence.Spread{TPOT: narrow.TPOT + 0.1}
		r, a := outcome(t, narrow, "workload.rate="+rate)
		_, again := outcome(t, narrow, "workload.rate="+rate)
		_, b := outcome(t, wide, "workload.rate="+rate)
		if !reflect.DeepEqual(a, again) {
			t.Fatalf("%+v, and again %+v", a, again)
		}
		for name, span := range a.Of {
			value := scenarios.MetricNamed(name).Of(r)
			if span.Low > value*(1+1e-12)+1e-12 || span.High < value*(1-1e-12)-1e-12 {
				t.Errorf("%s is %g, and said to be in [%g, %g]", name, value, span.Low, span.High)
			}
			if other := b.Of[name]; other.High-other.Low < (span.High-span.Low)*(1-1e-9)-1e-9 {
				t.Errorf("%s: [%g, %g] is wider than [%g, %g] of a larger spread", name, span.Low, span.High, other.Low, other.High)
			}
		}
	})
}

// Where steps bind, a time per token is as uncertain as steps are.
func TestStepsPassTheirErrorOn(t *testing.T) {
	r, a := outcome(t, evidence.Spread{TPOT: 0.1}, "workload.rate=1/s")
	span := a.Of["median_tpot_ms"]
	for _, ratio := range []float64{span.High / r.MedianTPOT, r.MedianTPOT / span.Low} {
		if ratio < 1.10 || ratio > 1.18 { // exp(1.28 · 0.1) = 1.137
			t.Errorf("median TPOT %g in [%g, %g]: off by a factor of %g", r.MedianTPOT, span.Low, span.High, ratio)
		}
	}
}
