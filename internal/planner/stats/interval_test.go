package stats

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
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
func outcome(t *testing.T, spread evidence.Spread, overrides ...string) (*scenarios.Result,
	*scenarios.Intervals) {
	t.Helper()
	load := func() (*scenarios.File, error) {
		return scenarios.Parse("chat", []byte(chat), overrides...)
	}
	f, err := load()
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	r.Evidence.Spread = spread
	intervals, err := Ranges(context.Background(), load, r)
	testkit.OK(t, err)
	return r, intervals
}

// A range holds the figure that it is of, is wider where predictions were
// further off, and is the same each time.
func TestRangesHoldAndGrow(t *testing.T) {
	for _, rate := range []string{"2/s", "12/s", "40/s"} {
		r, narrow := outcome(t, evidence.Spread{TPOT: 0.03, TTFT: 0.05}, "workload.rate="+rate)
		_, again := outcome(t, evidence.Spread{TPOT: 0.03, TTFT: 0.05}, "workload.rate="+rate)
		_, wide := outcome(t, evidence.Spread{TPOT: 0.15, TTFT: 0.3}, "workload.rate="+rate)
		if !reflect.DeepEqual(narrow, again) {
			t.Errorf("%+v, and again %+v", narrow, again)
		}
		for name, span := range narrow.Of {
			value := scenarios.MetricNamed(name).Of(r)
			if span.Low > value*(1+1e-12)+1e-12 || span.High < value*(1-1e-12)-1e-12 {
				t.Errorf("%s is %g, and said to be in [%g, %g]", name, value, span.Low, span.High)
			}
		}
		for _, name := range []string{"mean_ttft_ms", "mean_tpot_ms", "p99_tpot_ms",
			"mean_e2el_ms"} {
			if a, b := narrow.Of[name], wide.Of[name]; b.High-b.Low <= a.High-a.Low {
				t.Errorf("%s: [%g, %g] is no wider than [%g, %g] of a smaller spread", name, b.Low,
					b.High, a.Low, a.High)
			}
		}
	}
}

// An SLO on TTFT is kept as often as where TTFT is as late, and as early, as in one case of ten
// each, and the time of a request has the error of TTFT as far as that is a part of it.
func TestSLOsHaveTheErrorOfTTFT(t *testing.T) {
	spread := evidence.Spread{TTFT: 0.3}
	r, _ := outcome(t, spread, "workload.rate=1/s")
	limit := 1.6 * r.MedianTTFT
	slo := func(ms float64) string {
		return fmt.Sprintf("slo={ttft: %.4fms, percentile: 90}", ms)
	}
	seen, ranges := outcome(t, spread, "workload.rate=1/s", slo(limit))
	for _, factor := range []float64{math.Exp(0.3 * tenth), math.Exp(-0.3 * tenth)} {
		other, _ := outcome(t, spread, "workload.rate=1/s", slo(limit/factor))
		for _, name := range []string{"slo_attainment", "goodput"} {
			m, span := scenarios.MetricNamed(name), ranges.Of[name]
			x := m.Of(other)
			if factor > 1 && m.Of(seen) == x || x < 0.999*span.Low || x > 1.001*span.High {
				t.Errorf("%s is %g where TTFT is %g times as long, outside of %+v around %g", name,
					x, factor, span, m.Of(seen))
			}
		}
	}
	share := r.MeanTTFT / r.MeanE2EL
	if up := math.Log(ranges.Of["mean_e2el_ms"].High / seen.MeanE2EL); up < 0.99*share*0.3*tenth {
		t.Errorf("requests may take %g more, of which TTFT is %g", up, share)
	}
}

// Of one user a time per token is as uncertain as steps are, which are faster than its range in one
// case of ten, and slower in another.
func TestStepsPassTheirErrorOn(t *testing.T) {
	r, a := outcome(t, evidence.Spread{TPOT: 0.3}, "workload.rate=0.01/s",
		"workload.arrivals=constant")
	span := a.Of["median_tpot_ms"]
	for _, ratio := range []float64{span.High / r.MedianTPOT, r.MedianTPOT / span.Low} {
		if want := math.Exp(0.3 * tenth); math.Abs(ratio/want-1) > 0.01 {
			t.Errorf("median TPOT %g in [%g, %g]: off by a factor of %g, want %g", r.MedianTPOT,
				span.Low, span.High, ratio, want)
		}
	}
}

// Runs with faster and with slower steps have the random numbers of the plain run: if steps are
// certain, they are that run, and what is left is noise, on both sides alike.
func TestCertainStepsLeaveNoise(t *testing.T) {
	r, ranges := outcome(t, evidence.Spread{})
	for _, name := range []string{"mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms"} {
		value, span := scenarios.MetricNamed(name).Of(r), ranges.Of[name]
		if up, down := span.High/value, value/span.Low; up <= 1 || up/down < 0.998 ||
			up/down > 1.002 {
			t.Errorf("%s of %g lies in %+v", name, value, span)
		}
	}
}

// Where prefill is apart, what is known to be off of TPOT moves its range, and not that of TTFT,
// which servers without a decode step make.
func TestKnownFactorsLeavePrefillApart(t *testing.T) {
	load := func() (*scenarios.File, error) {
		return scenarios.Parse("apart", []byte(chat), "hardware=a100-80gb-sxm", "workload.rate=2/s",
			"fleet={pools: [{name: p, role: prefill, replicas: 1}, "+
				"{name: d, role: decode, replicas: 1}]}")
	}
	f, err := load()
	testkit.OK(t, err)
	r, err := f.Run(t.Context(), policies.Default())
	testkit.OK(t, err)
	ranges, err := Ranges(t.Context(), load, r)
	testkit.OK(t, err)
	first, token := ranges.Of["mean_ttft_ms"], ranges.Of["mean_tpot_ms"]
	if r.Evidence.Factor != 3 || token.Low < 1.5*r.MeanTPOT || token.High < 3*r.MeanTPOT ||
		first.Low > r.MeanTTFT || first.High < r.MeanTTFT || first.High > 3*r.MeanTTFT {
		t.Errorf("factor %g: TTFT of %g in %+v, TPOT of %g in %+v", r.Evidence.Factor, r.MeanTTFT,
			first, r.MeanTPOT, token)
	}
}

// A time has no range where a run does not have it, as the time per token of answers of one.
func TestTimesThatMayNotComeHaveNoRange(t *testing.T) {
	_, ranges := outcome(t, evidence.Spread{TPOT: 0.3, TTFT: 0.3}, "workload.output=1")
	if of, known := ranges.Of["mean_tpot_ms"]; known || len(ranges.Of) == 0 {
		t.Errorf("TPOT lies in %+v, of %d ranges", of, len(ranges.Of))
	}
}
