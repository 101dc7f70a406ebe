package stats

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// tenth is how many standard deviations a normal value is above its mean in one case of ten.
const tenth = 1.2815515655446004

// near reports whether a is b but for the rounding to four digits.
func near(a, b float64) bool { return math.Abs(a-b) <= 6e-4*max(math.Abs(b), 1e-6) }

// Fast and slow runs are those of one case of ten each, around the bias.
func TestFactorsAreQuantiles(t *testing.T) {
	fast, slow := Factors(evidence.Spread{TPOT: 0.2, TPOTBias: 0.1})
	if !near(fast, math.Exp(0.1-0.2*tenth)) || !near(slow, math.Exp(0.1+0.2*tenth)) {
		t.Errorf("factors of %g and %g", fast, slow)
	}
}

// The independent parts of a difference add up as squares, by hand for small whole numbers.
func TestDifferenceByHand(t *testing.T) {
	tpot, ttft := scenarios.MetricNamed("mean_tpot_ms"), scenarios.MetricNamed("mean_ttft_ms")
	steps := func(x float64) evidence.Spread { return evidence.Spread{TPOT: x} }
	wait := evidence.Spread{TPOT: 0.3, TTFT: 0.5} // 0.4 is not of steps
	biased := evidence.Spread{TPOTBias: 0.1, TTFTBias: 0.3}
	off, apart := math.Expm1(0.2), 0.4*tenth
	for _, c := range []struct {
		name         string
		m            scenarios.Metric
		first, other evidence.Spread
		shared       bool
		down, up     float64 // squares
	}{
		{"apart", tpot, steps(0.2), steps(0.2), false, 9 + 25 + 9, 9 + 100 + 4},
		{"shared", tpot, steps(0.2), steps(0.2), true, 9 + 9, 9 + 49},
		{"half of it shared", tpot, steps(0.1), steps(0.2), true,
			9 + 0.25 + 0.75*25, 9 + 4 + 0.75*100},
		{"half of the first shared", tpot, steps(0.2), steps(0.1), true,
			9 + 16 + 0.75*9, 9 + 8.5*8.5 + 0.75*4},
		{"a first without a spread", tpot, steps(0), steps(0.2), true, 9 + 25 + 9, 9 + 100 + 4},
		{"waits apart", ttft, wait, wait, false,
			43 + apart*apart*(100+400), 113 + apart*apart*(100+400)},
		{"waits shared", ttft, wait, wait, true, 9 + 9, 9 + 49},
		{"the waits of one", ttft, steps(0.3), wait, true,
			9 + 9 + apart*apart*400, 9 + 49 + apart*apart*400},
		{"a bias", ttft, biased, biased, false,
			43 + off*off*100, 113 + off*off*400},
		{"a bias that is shared", ttft, biased, biased, true, 43, 113},
	} {
		first := Response{Plain: 10, Fast: 8, Slow: 13, Spread: c.first}
		other := Response{Plain: 20, Fast: 15, Slow: 30, Spread: c.other}
		got := Difference(c.m, first, other, c.shared, 100, 3)
		if !near(got.Low, 100-math.Sqrt(c.down)) || !near(got.High, 100+math.Sqrt(c.up)) {
			t.Errorf("%s: %+v, want %g and %g", c.name, got, 100-math.Sqrt(c.down),
				100+math.Sqrt(c.up))
		}
	}
}

// result returns a run whose mean time to first token in milliseconds, and share of requests that
// keep the SLO, are x.
func result(x float64) *scenarios.Result {
	r := &scenarios.Result{}
	r.MeanTTFT, r.Attainment.All = x, x
	return r
}

// A range joins the effects of steps, of seeds and of other errors as squares,
// in logarithms except for shares. It holds the value itself, unless that follows from TPOT and
// is known to be off, and a share stays one.
func TestRangesJoinSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		metric := scenarios.MetricNamed("mean_ttft_ms")
		forward, back := math.Log, math.Exp
		draw := func(name string) float64 { return rapid.Float64Range(0.3, 1).Draw(t, name) }
		if rapid.Bool().Draw(t, "share") {
			metric = scenarios.MetricNamed("slo_attainment")
			forward = func(x float64) float64 { return x }
			back = func(x float64) float64 { return max(0, min(1, x)) }
		}
		value, fast, late := draw("value"), draw("fast"), draw("late")
		seen := []float64{draw("seed 0"), draw("seed 1"), draw("seed 2")}
		shorter := rapid.Float64Range(0.1, 1).Draw(t, "shorter")
		e := evidence.Spread{TPOT: rapid.Float64Range(0.01, 0.1).Draw(t, "TPOT"),
			TTFT:     rapid.Float64Range(0.1, 0.3).Draw(t, "TTFT"),
			TTFTBias: rapid.Float64Range(-0.1, 0.1).Draw(t, "bias"),
			TPOTBias: rapid.SampledFrom([]float64{0, 0.02, -0.02}).Draw(t, "bias of steps")}
		var plain []*scenarios.Result
		mean, squares := 0.0, 0.0
		for _, x := range seen {
			plain = append(plain, result(x))
			mean += forward(x) / 3
		}
		for _, x := range seen {
			squares += (forward(x) - mean) * (forward(x) - mean)
		}
		others := squares / 2 * shorter * shorter
		centre := forward(value)
		if metric.Unit != scenarios.Share {
			others += e.TTFT*e.TTFT - e.TPOT*e.TPOT
			centre += e.TTFTBias - e.TPOTBias
		}
		others *= tenth * tenth
		a, b := forward(fast)-forward(seen[0]), forward(late)-forward(seen[0])
		middle := effect(e.TPOTBias, a, b, e)
		centre += middle
		down, up := middle-min(a, b, middle), max(a, b, middle)-middle
		low, high := back(centre-math.Sqrt(down*down+others)), back(centre+math.Sqrt(up*up+others))
		r := result(value)
		if rapid.Bool().Draw(t, "known to be off") {
			r.Evidence.Factor = 2
		}
		if r.Evidence.Factor == 0 || metric.Unit != scenarios.Share {
			low, high = min(value, low), max(value, high)
		}
		got, _ := span(metric, r, result(fast), result(late), plain, shorter, e)
		if !near(got.Low, low) || !near(got.High, high) {
			t.Fatalf("%+v, want %g to %g", got, low, high)
		}
	})
}

// A figure that is 0 or undefined in some run has no range; a share of 0 has one.
func TestNothingToReckonWith(t *testing.T) {
	metric := scenarios.MetricNamed("mean_ttft_ms")
	for _, none := range []float64{0, math.NaN()} {
		for at := range 4 {
			x := []float64{2, 2, 2, 2}
			x[at] = none
			plain := []*scenarios.Result{result(x[0]), result(1), result(4)}
			got, known := span(metric, result(x[1]), result(x[2]), result(x[3]), plain, 1,
				evidence.Spread{})
			if known {
				t.Errorf("%v: %+v", x, got)
			}
		}
	}
	got, _ := span(scenarios.MetricNamed("slo_attainment"), result(0), result(0), result(0.5),
		[]*scenarios.Result{result(0), result(0), result(0)}, 1, evidence.Spread{})
	if got != (scenarios.Range{Low: 0, High: 0.5}) {
		t.Errorf("a share of 0: %+v", got)
	}
}

// Typical steps lie between the plain run and that with slow or fast steps, in
// proportion to the bias; where they lie beyond both, the middle is taken.
func TestTypicalInterpolates(t *testing.T) {
	for _, c := range []struct{ bias, spread, want float64 }{
		{0, 0.1, 0}, {0.1, 0, 0},
		{0.1, 0.2, 6 * 0.5 / (tenth + 0.5)}, {-0.1, 0.2, -4 * 0.5 / (tenth + 0.5)},
		{0.3, 0.2, 1}, {-0.3, 0.2, 1},
	} {
		got := effect(c.bias, -4, 6, evidence.Spread{TPOTBias: c.bias, TPOT: c.spread})
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("bias %g of a spread of %g: %g, want %g", c.bias, c.spread, got, c.want)
		}
	}
	if got := rounded(1.23456); got != 1.235 {
		t.Errorf("1.23456 is rounded to %g", got)
	}
}

// Ranges are of figures by which systems are compared, and never of counts.
func TestWhatHasARange(t *testing.T) {
	var names []string
	for _, m := range scenarios.Metrics() {
		if ranged(m) {
			names = append(names, m.Name)
		}
	}
	for _, name := range []string{"mean_ttft_ms", "slo_attainment", "output_throughput",
		"cost_per_million_output_tokens", "energy_per_million_output_tokens"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s has no range: %v", name, names)
		}
	}
	for _, name := range []string{"completed", "kv_usage", "busy", "peak_waiting"} {
		if slices.Contains(names, name) {
			t.Errorf("%s has a range", name)
		}
	}
}

// A factor multiplies the slowdown of the engine and of each pool that has an engine of its own.
// What is known to be off of decoding alone leaves the steps of servers that only compute prompts
// as they are at that factor, whatever engine their pool has, and slows all others by it.
func TestSlowMultiplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := rapid.Float64Range(0.2, 5).Draw(t, "known factor on decode steps")
		e := evidence.Spread{TPOTBias: math.Log(known), DecodeBias: math.Log(known)}
		s := scenarios.Scenario{Engine: scenarios.Engine{
			Slowdown: rapid.SampledFrom([]float64{0, 1.5}).Draw(t, "slowdown")}}
		for range rapid.IntRange(0, 3).Draw(t, "pools") {
			s.Fleet.Pools = append(s.Fleet.Pools, scenarios.Pool{
				Role: rapid.SampledFrom([]string{"prefill", "decode", ""}).Draw(t, "role"),
				Engine: scenarios.Engine{
					Slowdown: rapid.SampledFrom([]float64{0, 3}).Draw(t, "slowdown of the pool")}})
		}
		was := slices.Clone(s.Fleet.Pools)
		own, by := cmp.Or(s.Engine.Slowdown, 1), rapid.Float64Range(1.01, 3).Draw(t, "beside")
		SlowDown(&s, known*by, e)
		if math.Abs(s.Engine.Slowdown-own*known*by) > 1e-9 {
			t.Fatalf("the engine is slowed by %g", s.Engine.Slowdown/own)
		}
		for i, p := range s.Fleet.Pools {
			got := cmp.Or(p.Engine.Slowdown, s.Engine.Slowdown)
			want := cmp.Or(was[i].Engine.Slowdown, own) * by
			if p.Role != "prefill" {
				want *= known
			}
			if math.Abs(got/want-1) > 1e-9 {
				t.Fatalf("pool %+v has steps of %g times the predicted, want %g", was[i], got, want)
			}
		}
	})
	s := scenarios.Scenario{Engine: scenarios.Engine{Slowdown: 2}}
	s.Fleet.Pools = make([]scenarios.Pool, 3)
	s.Fleet.Pools[1].Engine = scenarios.Engine{Slowdown: 3}
	s.Fleet.Pools[2].Engine = scenarios.Engine{Preset: "vllm"}
	SlowDown(&s, 1.5, evidence.Spread{})
	got := []float64{s.Engine.Slowdown, s.Fleet.Pools[0].Engine.Slowdown,
		s.Fleet.Pools[1].Engine.Slowdown, s.Fleet.Pools[2].Engine.Slowdown}
	if want := []float64{3, 0, 4.5, 1.5}; !slices.Equal(got, want) {
		t.Errorf("slowdowns %v, want %v", got, want)
	}
}

// The ranges of a long run come from shorter ones; the seeds' noise falls with the root of the
// requests. Without requests there is no range.
func TestRunsForRanges(t *testing.T) {
	for _, c := range []struct{ sent, want int64 }{{400, 400}, {3000, 3000}, {3400, 3000}} {
		load := func() (*scenarios.File, error) {
			return scenarios.Parse("short", []byte(`
model: llama-3.1-8b
hardware: h100-sxm
workload: {rate: 8/s, prompt: 40, output: 4, requests: 400}
`))
		}
		f, err := load()
		testkit.OK(t, err)
		f.Scenario.Workload.Requests = c.sent
		r, err := f.Run(context.Background(), policies.Default())
		testkit.OK(t, err)
		got, err := Ranges(context.Background(), load, r)
		testkit.OK(t, err)
		if got.Level != 0.8 || got.Runs != 5 || got.Requests != c.want {
			t.Errorf("%d requests: level %g of %d runs with %d requests", c.sent, got.Level,
				got.Runs, got.Requests)
		}
	}
	got, err := Ranges(context.Background(), nil, &scenarios.Result{})
	if got != nil || err != nil {
		t.Errorf("without requests: %+v, %v", got, err)
	}
}
