package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// observed returns a run that had these requests.
func observed(requests ...planner.Request) *planner.Observation {
	return &planner.Observation{Simulation: &scenarios.Simulation{}, Result: &scenarios.Result{},
		Requests: requests}
}

// steadily returns a run of n requests, one a second, of so many tokens each, with a constant
// latency in milliseconds, and answered at once.
func steadily(n, tokens int, latency float64) *planner.Observation {
	o := observed()
	for i := range n {
		at, l := sim.Seconds(float64(i)), sim.Seconds(latency/1000)
		o.Requests = append(o.Requests, planner.Request{Arrival: at, Done: at, TTFT: l, TPOT: 2 * l,
			E2E: 3 * l, Output: tokens, Kept: true})
	}
	return o
}

// A window is the requests after the warm-up; its throughput counts the answers that end from its
// first arrival on and before its last, whoever asked for them.
func TestWindowByHand(t *testing.T) {
	s := sim.Seconds
	o := observed(
		planner.Request{Arrival: 0, Done: s(2), TTFT: s(9), Output: 1000},
		planner.Request{Arrival: s(1), Done: s(1.9), TTFT: s(9), Output: 500, Kept: true},
		planner.Request{Arrival: s(2), Done: s(4), TTFT: s(0.3), TPOT: s(0.02), E2E: s(2),
			Output: 70, Kept: true},
		planner.Request{Arrival: s(3), Done: s(4), TTFT: s(0.1), TPOT: s(0.01), E2E: s(1),
			Output: 30, Cut: true},
		planner.Request{Arrival: s(4), Done: s(4.5), Output: 20, Rejected: true},
		planner.Request{Arrival: s(5), Done: s(6), TTFT: s(0.2), TPOT: s(0.03), E2E: s(1),
			Output: 1},
		planner.Request{Arrival: s(6), Done: s(7), TTFT: s(0.4), E2E: s(1.5), Output: 9,
			Kept: true},
	)
	w := newWindow(o, 2)
	l := w.latencies
	got := [][]float64{l["ttft"], l["tpot"], l["e2el"]}
	if fmt.Sprint(got) != fmt.Sprint([][]float64{
		{100, 200, 300, 400}, {10, 20}, {1000, 1500, 2000}}) {
		t.Errorf("latencies %v", got)
	}
	if w.throughput != 1100./4 || w.offered != 130./4 || w.kept != 2./5 {
		t.Errorf("throughput %g, offered %g, kept %g", w.throughput, w.offered, w.kept)
	}
	if short := newWindow(o, 100); len(short.latencies["ttft"]) != 3 || short.kept != 1./4 {
		t.Errorf("of a short run: %+v, want its later half", short)
	}
	at := observed(planner.Request{Output: 5, TTFT: s(1)}, planner.Request{Output: 7, TTFT: s(1)})
	at.Result.OutputThroughput = 12
	if once := newWindow(at, 0); once.throughput != 12 || once.offered != 0 || once.keepsUp() {
		t.Errorf("all at once: %+v, want the whole run's throughput and no offered rate", once)
	}
	at.Requests[0].Done, at.Requests[1].Done = s(2), s(3)
	at.Requests[1].Arrival = 1 // a user who was turned away asks again
	if nearly := newWindow(at, 0); nearly.throughput != 12 || nearly.keepsUp() {
		t.Errorf("nearly at once: %+v, want the whole run's throughput", nearly)
	}
	if none := newWindow(observed(), 3); none.kept != 0 || none.latencies["ttft"] != nil {
		t.Errorf("without requests: %+v", none)
	}
}

// A load is served where at least 95 % of it is; a closed loop offers none.
func TestKeepingUp(t *testing.T) {
	for _, c := range []struct {
		process             string
		offered, throughput float64
		want                bool
	}{{"poisson", 100, 95, true}, {"poisson", 100, 94.9, false}, {"poisson", 0, 5, false},
		{"closed-loop", 100, 100, false}, {"poisson", 0.5, 0.6, true}} {
		o := observed()
		o.Simulation.Scenario.Workload.Arrivals.Process = c.process
		w := window{run: o, offered: c.offered, throughput: c.throughput}
		if w.keepsUp() != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// Figures by their definitions, on latencies of 1 to 100 ms: the quantile of q is 100·q, each
// metric reads its own latency, and what a run does not have is not a number.
func TestMeasuresByHand(t *testing.T) {
	w := &window{run: observed(), throughput: 7, kept: 0.25, latencies: map[string][]float64{}}
	for i, kind := range []string{"ttft", "tpot", "e2el"} {
		for x := 1; x <= 100; x++ {
			w.latencies[kind] = append(w.latencies[kind], float64(1000*i+x))
		}
	}
	r := w.run.Result
	r.Cost, r.CostPerMillion, r.EnergyPerMillion, r.P99ITL = 1, 11, 13, 17
	r.Sold = &scenarios.TokenRevenue{}
	want := map[string]float64{"output_throughput": 7, "slo_attainment": 25,
		"cost_per_million_output_tokens": 11, "energy_per_million_output_tokens": 13,
		"p99_itl_ms": 17}
	for i, l := range []string{"ttft", "tpot", "e2el"} {
		want["mean_"+l+"_ms"] = 1000*float64(i) + 50.5
		for name, q := range map[string]float64{"median": 50, "p90": 90, "p95": 95, "p99": 99} {
			want[name+"_"+l+"_ms"] = 1000*float64(i) + q
		}
	}
	seen := 0
	for _, m := range append(measures(false), optionalMeasures()...) {
		if v, known := want[m.Name]; known {
			seen++
			if got := m.of(w); math.Abs(got-v) > 1e-9 {
				t.Errorf("%s is %g, want %g", m.Name, got, v)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d of the figures are there, want %d", seen, len(want))
	}
	if n, sold := len(measures(false)), measures(true); len(sold) != n+2 ||
		sold[n].Name != "tokens_sold" || sold[n+1].Name != "margin" {
		t.Errorf("%d figures, and %d where tokens are sold", n, len(sold))
	}
	r.Cost = 0
	for _, m := range append(measures(false), optionalMeasures()...) {
		empty := &window{run: w.run}
		latency := m.Unit == scenarios.Milliseconds || m.Unit == scenarios.Dollars
		if v := m.of(empty); math.IsNaN(v) != latency {
			t.Errorf("%s of nothing is %g", m.Name, v)
		}
	}
	c := &Comparison{gated: []string{"p95_e2el_ms", "goodput"}}
	if n := len(c.measures()); n != len(measures(false))+2 {
		t.Errorf("%d figures with limits on two more", n)
	}
}

// pairs returns two trials whose runs have these latencies.
func pairs(a, b []float64) (base, other *trial) {
	base, other = &trial{}, &trial{}
	for i := range a {
		base.runs = append(base.runs, steadily(9, 10, a[i]))
		other.runs = append(other.runs, steadily(9, 10, b[i]))
	}
	return base, other
}

// The difference is the mean of the differences of runs with one seed, with Student's interval at
// a level that shares the error among the figures. Swapped variants have the opposite difference,
// and of two one is better and one worse, or it is noise.
func TestFiguresArePaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(10, 100), 3, 3).Draw(t, name)
		}
		a, b := draw("first"), draw("other")
		base, other := pairs(a, b)
		c := &Comparison{Confidence: 0.9}
		there, back := c.figures(base, other), c.figures(other, base)
		level := 1 - 0.1/float64(len(measures(false)))
		var d, value []float64
		for i := range a {
			x := other.runs[i].Requests[0].TTFT.Milliseconds()
			d = append(d, difference(x, base.runs[i].Requests[0].TTFT.Milliseconds()))
			value = append(value, x)
		}
		want, noise := stats.Mean(d, level), stats.Mean(d, stats.Level)
		f := there[0]
		near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*(1+math.Abs(y)) }
		if !near(f.Difference.Mean, want.Mean) || !near(f.Difference.Half, want.Half) ||
			!near(f.noise, noise.Half) || !near(f.Value.Mean, stats.Mean(value, level).Mean) ||
			!near(f.Value.Half, stats.Mean(value, level).Half) {
			t.Fatalf("%+v, want a difference of %+v and noise of %g", f, want, noise.Half)
		}
		for i := range there {
			x, y := there[i], back[i]
			if x.absent() {
				continue
			}
			if !near(x.Difference.Mean, -y.Difference.Mean) || x.BeyondNoise != y.BeyondNoise ||
				x.BeyondNoise != x.Difference.Excludes(0) ||
				(x.Better != y.Better) != x.BeyondNoise {
				t.Fatalf("%+v, and swapped %+v", x, y)
			}
			if higher := measures(false)[i].Better == scenarios.Higher; x.BeyondNoise &&
				x.Better != (higher == (x.Difference.Mean > 0)) {
				t.Fatalf("%+v is better: %v", x, x.Better)
			}
		}
	})
}

// Where both serve their whole load, a difference of the throughput is one of the loads, and
// neither better nor worse; where one run does not, it is judged.
func TestOfferedThroughput(t *testing.T) {
	base, other := &trial{}, &trial{}
	for range 3 {
		base.runs = append(base.runs, steadily(100, 10, 5))
		other.runs = append(other.runs, steadily(100, 20, 5))
	}
	c := &Comparison{Confidence: 0.95}
	f := figure(t, c.figures(base, other), "output_throughput")
	if !f.Offered || f.Better || f.verdict() != "as offered" {
		t.Errorf("all is served: %+v", f)
	}
	if same := figure(t, c.figures(base, base), "output_throughput"); same.Offered ||
		same.verdict() != "the same" {
		t.Errorf("against itself: %+v", same)
	}
	for i := range 10 {
		base.runs[1].Requests[i].Done = sim.Seconds(1000)
	}
	for _, pair := range [][2]*trial{{base, other}, {other, base}} {
		f := figure(t, c.figures(pair[0], pair[1]), "output_throughput")
		if f.Offered || f.Better != (pair[1] == other) {
			t.Errorf("one run is behind: %+v", f)
		}
	}
	other.runs = other.runs[:1]
	if f := figure(t, c.figures(base, other), "mean_ttft_ms"); !math.IsInf(f.Difference.Half, 1) {
		t.Errorf("one run against three: %+v, want no interval", f)
	}
}

// A difference below a billionth of the figure is a rounding error.
func TestRoundingErrorsAreNoDifference(t *testing.T) {
	for _, c := range [][3]float64{{5, 3, 2}, {3, 5, -2}, {1 + 1e-10, 1, 0}, {-1 - 1e-10, -1, 0},
		{0, 0, 0}, {1e-12, 0, 1e-12}} {
		if got := difference(c[0], c[1]); got != c[2] {
			t.Errorf("%g − %g is %g, want %g", c[0], c[1], got, c[2])
		}
	}
}

// The range of a difference is made of the response of each variant to faster and slower steps;
// one on which the range leaves doubt is neither better nor worse.
func TestRangesByHand(t *testing.T) {
	servers := func(hardware string) *scenarios.Simulation {
		f, err := scenarios.Load("chat", "hardware="+hardware)
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		testkit.OK(t, s.Source.Close())
		return s
	}
	here, there := servers("h100-sxm"), servers("a100-80gb-sxm")
	for _, c := range []struct {
		runs   int
		shared bool
		spread float64
		unsure bool
	}{{3, true, 0.2, false}, {3, false, 0.2, false}, {3, false, 4, true}, {1, true, 0.2, false}} {
		base, other := pairs([]float64{20, 21, 22}[:c.runs], []float64{10, 10.9, 12.1}[:c.runs])
		for i, one := range []*trial{base, other} {
			one.fast, one.slow = steadily(9, 10, 18-8*float64(i)), steadily(9, 10, 25-5*float64(i))
			for _, run := range one.runs {
				if run.Simulation = here; i == 1 && !c.shared {
					run.Simulation = there
				}
				run.Result.Evidence.Spread = evidence.Spread{TPOT: c.spread, TTFT: c.spread}
			}
		}
		comparison := &Comparison{Confidence: 0.9}
		figures := comparison.figures(base, other)
		f := &figures[0]
		better := f.Better
		comparison.rangeDifferences(base, other, figures)
		spread := evidence.Spread{TPOT: c.spread, TTFT: c.spread}
		noise := f.noise
		if c.runs == 1 {
			noise = 0
		}
		want := stats.Difference(scenarios.MetricNamed("mean_ttft_ms"),
			stats.Response{Plain: 20, Fast: 18, Slow: 25, Spread: spread},
			stats.Response{Plain: 10, Fast: 10, Slow: 20, Spread: spread}, c.shared,
			f.Difference.Mean, noise)
		if f.Range == nil || math.Abs(f.Range.Low-want.Low) > 0.01 ||
			math.Abs(f.Range.High-want.High) > 0.01 {
			t.Fatalf("%+v: range %v, want %v", c, f.Range, want)
		}
		unsure := f.BeyondNoise && want.Low <= 0 && want.High >= 0
		if f.Unsure != unsure || f.Better != (better && !unsure) {
			t.Errorf("%+v: %+v, better before %v", c, f, better)
		}
	}
}

// A warm-up is found in the mean over the runs, in any of the two latencies; the end of the load is
// not looked at.
func TestWarmUpOfRuns(t *testing.T) {
	for _, latency := range []string{"TTFT", "TPOT", "neither"} {
		one := &trial{}
		for k := range 2 {
			o := steadily(200+10*k, 10, 20)
			for i := range 40 {
				r := &o.Requests[i]
				switch slow := sim.Seconds(1 + float64(i%3)/10); latency {
				case "TTFT":
					r.TTFT = slow
				case "TPOT":
					r.TPOT = slow
				}
			}
			one.runs = append(one.runs, o)
		}
		want := 40
		if latency == "neither" {
			want = 0
		}
		if drop, settled := one.warmUp(); drop != want || !settled {
			t.Errorf("%s: %d requests are warm-up (settled %v), want %d", latency, drop, settled,
				want)
		}
	}
	growing := &trial{runs: []*planner.Observation{steadily(200, 10, 20)}}
	for i := range growing.runs[0].Requests {
		growing.runs[0].Requests[i].TPOT = sim.Seconds(float64(i))
	}
	if _, settled := growing.warmUp(); settled {
		t.Error("a latency that grows to the end is called settled")
	}
}

// The share of the runs that meet the SLO.
func TestShareOfRuns(t *testing.T) {
	for met := range 5 {
		one := &trial{}
		for i := range 4 {
			o := observed()
			o.Result.SLOMet = i < met
			one.runs = append(one.runs, o)
		}
		if got := one.met(); got != float64(met)/4 {
			t.Errorf("%d of 4 runs: %g", met, got)
		}
	}
}

// A limit is applied to each variant but the first. What lies on it keeps it.
func TestChecksOfAllVariants(t *testing.T) {
	c := &Comparison{}
	for i, label := range []string{"a", "b", "c"} {
		v := Outcome{Label: label}
		for _, name := range []string{"mean_ttft_ms", "margin"} {
			x := 100 * float64(1+i)
			v.Figures = append(v.Figures, Figure{Name: name, Unit: "ms", BeyondNoise: true,
				Value: stats.Interval{Mean: x}, Difference: stats.Interval{Mean: x - 100}})
		}
		c.Variants = append(c.Variants, v)
	}
	var gates []Gate
	for _, text := range []string{"mean_ttft_ms > 200", "mean_ttft_ms > +100%",
		"mean_ttft_ms < 200", "p99_itl_ms < 3"} {
		g, err := ParseGate(text)
		testkit.OK(t, err)
		gates = append(gates, g)
	}
	list := c.Check(gates)
	var got []string
	for _, k := range list {
		got = append(got, fmt.Sprint(k.Variant, k.Failed))
	}
	want := []string{"bfalse", "bfalse", "bfalse", "btrue", "ctrue", "ctrue", "cfalse", "ctrue"}
	if !slices.Equal(got, want) || Failed(list) != 4 {
		t.Errorf("checks %v, of which %d failed, want %v", got, Failed(list), want)
	}
	if !strings.Contains(list[3].Words, "not all of the scenarios") {
		t.Errorf("a figure that is not compared: %s", list[3].Words)
	}
	for _, k := range []struct {
		gate        string
		value, d    float64
		says, never string
	}{
		{"mean_ttft_ms > 5", math.NaN(), math.NaN(), "so the limit is broken", "against"},
		{"mean_ttft_ms > +5%", 8, math.NaN(), "no request of the first has one to compare with",
			"broken"},
		{"mean_ttft_ms > 5", 8, math.NaN(), "against", "compare with"},
	} {
		g, err := ParseGate(k.gate)
		testkit.OK(t, err)
		words := g.check("b", &Figure{Name: g.Metric, Unit: "ms",
			Value:      stats.Interval{Mean: k.value},
			Difference: stats.Interval{Mean: k.d}}, math.NaN()).Words
		if !strings.Contains(words, k.says) || strings.Contains(words, k.never) {
			t.Errorf("%+v: %s", k, words)
		}
	}
	inf := math.Inf(1)
	for _, k := range []struct {
		gate           string
		first, d, half float64
		beyond, failed bool
	}{
		{"mean_ttft_ms > +5%", 100, 10, inf, false, true}, // one run is all there is
		{"mean_ttft_ms > +5%", 100, 10, 20, false, false},
		{"mean_ttft_ms > 105", 100, 10, 20, false, true}, // noise excuses no value
		{"margin < -5%", -100, -10, 1, true, true},
		{"margin < -5%", -100, -4, 1, true, false},
		{"margin < -5%", 0, -1, 0, true, true},
		{"margin > +5%", 0, -1, 0, true, false},
		{"margin > +5%", 0, 0, 0, false, false},
		{"slo_attainment < -1%", 50, -1.5, 0, true, true}, // points
		{"slo_attainment < -1%", 50, -0.8, 0, true, false},
		{"slo_attainment < 99%", 100, -1.5, 0, true, true},
		{"slo_attainment < 99", 100, -0.5, 0, true, false},
		{"margin > +5%", 100, math.NaN(), 0, true, true},
		{"margin > +5%", math.NaN(), math.NaN(), 0, true, true},
	} {
		g, err := ParseGate(k.gate)
		testkit.OK(t, err)
		unit := map[bool]string{true: "%", false: "x"}[g.Metric == "slo_attainment"]
		f := &Figure{Name: g.Metric, Unit: unit, BeyondNoise: k.beyond,
			Value:      stats.Interval{Mean: k.first + k.d, Half: k.half},
			Difference: stats.Interval{Mean: k.d, Half: k.half}}
		check := g.check("b", f, k.first)
		if check.Failed != k.failed ||
			strings.Contains(check.Words, "within noise") != (k.half == 20 && g.Relative) {
			t.Errorf("%+v: %+v", k, check)
		}
	}
}

// A limit is read back as it was written.
func TestParseGate(t *testing.T) {
	for text, want := range map[string]Gate{
		"p99_ttft_ms > +5%":     {Metric: "p99_ttft_ms", Above: true, Limit: 0.05, Relative: true},
		" mean_tpot_ms<40 ":     {Metric: "mean_tpot_ms", Limit: 40},
		"slo_attainment < 99%":  {Metric: "slo_attainment", Limit: 99},
		"slo_attainment < -1 %": {Metric: "slo_attainment", Limit: -1, Relative: true},
		"goodput < -2.5%":       {Metric: "goodput", Limit: -0.025, Relative: true},
		"tokens_sold < 7":       {Metric: "tokens_sold", Limit: 7},
	} {
		want.Text = strings.TrimSpace(text)
		if g, err := ParseGate(text); err != nil || g != want {
			t.Errorf("%q: %+v (%v), want %+v", text, g, err, want)
		}
	}
	for text, want := range map[string]string{
		"p99_ttft_ms": "want a metric", "p99_ttft_ms > 1.2.3": "not a number",
		"p99_ttf_ms > 1": "did you mean p99_ttft_ms", "busy > 1": "unknown metric",
	} {
		if _, err := ParseGate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}
