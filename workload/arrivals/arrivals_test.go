package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

const minute = 60 * sim.Second

// start begins a process with the streams of a fixed seed.
func start(t testing.TB, p Process, seed uint64) *Times {
	t.Helper()
	times, err := p.Times(rand.NewPCG(seed, 1), rand.NewPCG(seed, 2))
	testkit.OK(t, err)
	return times
}

// until collects the arrivals before end, in seconds.
func until(times *Times, end sim.Time) []float64 {
	var list []float64
	for at := times.Next(); at < end; at = times.Next() {
		list = append(list, at.Seconds())
	}
	return list
}

// changing is one rate of each kind whose integral is known.
func changing() []Rate {
	return []Rate{
		Steady(50),
		Phases{List: []Phase{{20, 20, 30 * sim.Second}, {0, 0, 10 * sim.Second}, {20, 80, minute},
			{80, 0, minute}}, Repeat: true},
		Phases{List: []Phase{{0, 100, minute}, {100, 100, 0}}},
		Bursts{High: 200, Low: 10, For: 5 * sim.Second, Pause: 20 * sim.Second},
		Diurnal{Average: 50, Swing: 1, Period: 10 * minute, Peak: 3 * minute},
		Diurnal{Average: 50, Swing: 0.3, Period: sim.Second, Peak: 500 * sim.Millisecond},
	}
}

// expected returns the integral of a rate from 0 to each of the times, which ascend, by the
// midpoint rule over small steps: a second way to the quantity that the pacers invert.
func expected(rate func(float64) float64, times []float64) []float64 {
	const step = 1e-4
	sums := make([]float64, len(times))
	sum, x := 0.0, 0.0
	for i, t := range times {
		for ; x+step <= t; x += step {
			sum += rate(x+step/2) * step
		}
		sums[i] = sum + rate((x+t)/2)*(t-x)
	}
	return sums
}

// at returns the rate as a function of time in seconds, written independently of the pacers.
func at(r Rate) func(float64) float64 {
	switch r := r.(type) {
	case Phases:
		return func(t float64) float64 {
			if length, _ := r.sums(); r.Repeat {
				t = math.Mod(t, length.Seconds())
			}
			for _, f := range r.List {
				if s := f.For.Seconds(); t < s {
					return f.From + (f.To-f.From)*t/s
				} else {
					t -= s
				}
			}
			return r.List[len(r.List)-1].To
		}
	case Bursts:
		return at(r.phases())
	case Diurnal:
		return func(t float64) float64 {
			return r.Average * (1 +
				r.Swing*math.Cos(2*math.Pi*(t-r.Peak.Seconds())/r.Period.Seconds()))
		}
	}
	return func(float64) float64 { return r.Mean() }
}

// Time rescaling: mapped through the integral of the rate, the arrivals of any renewal process must
// have the gaps that were drawn, whatever the rate does.
func TestPacersInvertTheIntegralOfTheRate(t *testing.T) {
	for _, r := range changing() {
		t.Run(r.String(), func(t *testing.T) {
			times := until(start(t, Process{Rate: r, Gaps: Gamma{CV: 1.5}}, 5), 6*minute)
			draw, err := Gamma{CV: 1.5}.Sampler(rand.NewPCG(5, 1))
			testkit.OK(t, err)
			if len(times) < 1000 {
				t.Fatalf("only %d arrivals", len(times))
			}
			sum := 0.0
			for i, got := range expected(at(r), times) {
				sum += draw()
				// The midpoint rule errs by half a step at each jump of the rate.
				if math.Abs(got-sum) > 0.15 {
					t.Fatalf("arrival %d at %g s: the rate integrates to %g, the gaps sum to %g", i,
						times[i], got, sum)
				}
			}
		})
	}
}

// Rescaled gaps of a Poisson process are exponential: the Kolmogorov-Smirnov statistic √n·D exceeds
// 2.23 once in 10,000 seeds.
func TestPoissonGapsAreExponential(t *testing.T) {
	for _, r := range changing() {
		t.Run(r.String(), func(t *testing.T) {
			times := until(start(t, Process{Rate: r}, 9), 6*minute)
			var gaps []float64
			last := 0.0
			for _, x := range expected(at(r), times) {
				gaps = append(gaps, x-last)
				last = x
			}
			slices.Sort(gaps)
			n, distance := float64(len(gaps)), 0.0
			for i, g := range gaps {
				p := -math.Expm1(-g)
				distance = max(distance, p-float64(i)/n, float64(i+1)/n-p)
			}
			if got := math.Sqrt(n) * distance; got > 2.23 {
				t.Errorf("Kolmogorov-Smirnov statistic %.2f over %g gaps", got, n)
			}
		})
	}
}

// Every shape has mean 1 and the coefficient of variation it is asked for, within five standard
// errors of the mean and, for the coefficient of variation, 3 %, of a million draws.
func TestShapesHaveTheirMoments(t *testing.T) {
	const draws = 1_000_000
	for _, c := range []struct {
		shape Shape
		cv    float64
	}{
		{Constant{}, 0}, {Exponential{}, 1},
		{Gamma{0.2}, 0.2}, {Gamma{1}, 1}, {Gamma{3}, 3},
		{Weibull{CV: 0.3}, 0.3}, {Weibull{CV: 1}, 1}, {Weibull{CV: 2.5}, 2.5},
		{Weibull{K: 0.5}, math.Sqrt(5)}, {Weibull{K: 1}, 1},
		{LogNormal{0.5}, 0.5}, {LogNormal{1.2}, 1.2},
	} {
		t.Run(c.shape.String(), func(t *testing.T) {
			draw, err := c.shape.Sampler(rand.NewPCG(13, 17))
			testkit.OK(t, err)
			sample := make([]float64, draws)
			for i := range sample {
				if sample[i] = draw(); !(sample[i] >= 0) {
					t.Fatalf("drew %v", sample[i])
				}
			}
			mean, sd := stat.MeanStdDev(sample, nil)
			if math.Abs(mean-1) > 5*c.cv/math.Sqrt(draws)+1e-12 {
				t.Errorf("mean %.5f", mean)
			}
			if math.Abs(sd-c.cv) > 0.03*c.cv {
				t.Errorf("coefficient of variation %.4f, want %g", sd/mean, c.cv)
			}
		})
	}
}

// The number of arrivals of a modulated process has the declared mean: within five standard
// deviations of a Poisson count, or of the doubly random one where bursts are random (variance from
// the formula of the interrupted Poisson process, about 40 times the mean here).
func TestMeanRate(t *testing.T) {
	const hours = 10
	for _, c := range []struct {
		rate       Rate
		dispersion float64
	}{
		{Steady(5), 1},
		{Phases{List: []Phase{{2, 8, minute}, {0, 0, minute}}, Repeat: true}, 1},
		{Bursts{High: 20, Low: 1, For: 2 * sim.Second, Pause: 8 * sim.Second}, 1},
		{Bursts{High: 20, Low: 0, For: 2 * sim.Second, Pause: 8 * sim.Second, Random: true}, 40},
		{Diurnal{Average: 5, Swing: 0.8, Period: 60 * minute, Peak: 7 * minute}, 1},
	} {
		n := float64(len(until(start(t, Process{Rate: c.rate}, 3), hours*60*minute)))
		want := c.rate.Mean() * hours * 3600
		if math.Abs(n-want) > 5*math.Sqrt(want*c.dispersion) {
			t.Errorf("%v: %g arrivals, expected %g", c.rate, n, want)
		}
	}
}

// Arrivals never go back in time, are reproducible, and end only where they should.
func TestTimesAscendAndRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.Float64Range(0, 1e4)
		span := rapid.Int64Range(int64(sim.Millisecond), int64(20*sim.Second))
		phases := Phases{Repeat: rapid.Bool().Draw(rt, "repeat")}
		for range rapid.IntRange(1, 5).Draw(rt, "phases") {
			phases.List = append(phases.List, Phase{rate.Draw(rt, "from"), rate.Draw(rt, "to"),
				sim.Time(span.Draw(rt, "for"))})
		}
		phases.List[0].To = 1
		r := rapid.SampledFrom([]Rate{phases,
			Bursts{High: phases.List[0].To, Low: 0.5, For: phases.List[0].For, Pause: sim.Second,
				Random: phases.Repeat},
			Diurnal{Average: 3, Swing: rapid.Float64Range(0, 1).Draw(rt, "swing"),
				Period: phases.List[0].For},
		}).Draw(rt, "rate")
		gaps := rapid.SampledFrom([]Shape{Constant{}, Exponential{}, Gamma{4}, Weibull{K: 0.4},
			LogNormal{2}}).Draw(rt, "gaps")
		seed := rapid.Uint64().Draw(rt, "seed")
		a, b := start(t, Process{r, gaps}, seed), start(t, Process{r, gaps}, seed)
		last := sim.Time(0)
		for range 200 {
			x, y := a.Next(), b.Next()
			if x != y {
				rt.Fatalf("the same seed gives %v and %v", x, y)
			}
			if x < last {
				rt.Fatalf("%v after %v", x, last)
			}
			if x == sim.Never && !r.Ends() {
				rt.Fatalf("%v ended", r)
			}
			last = x
		}
	})
}

// Constant gaps start at 0 and keep to their rate within the rounding of a float64, which a gap
// rounded to whole ticks would leave after four arrivals.
func TestConstantGapsDoNotDrift(t *testing.T) {
	times := start(t, Process{Rate: Steady(3), Gaps: Constant{}}, 1)
	for i := range int64(3_000_001) {
		got := times.Next()
		if want := sim.Time(i) * sim.Second / 3; math.Abs(float64(got-want)) > 1+
			3e-16*float64(want) {
			t.Fatalf("arrival %d at %d ps, want %d", i, got, want)
		}
	}
}

func TestConstantGapsThroughPhases(t *testing.T) {
	rates := Phases{List: []Phase{{0, 0, sim.Second}, {2, 2, sim.Second}, {0, 0, sim.Second},
		{4, 4, sim.Second}}}
	got := until(start(t, Process{rates, Constant{}}, 1), sim.Never)
	if diff := cmp.Diff([]float64{1, 1.5, 3, 3.25, 3.5, 3.75}, got); diff != "" {
		t.Errorf("arrivals differ (-want +got):\n%s", diff)
	}
}

func TestAtOnce(t *testing.T) {
	times := start(t, Process{Rate: AtOnce{}}, 1)
	for range 1000 {
		if at := times.Next(); at != 0 {
			t.Fatalf("arrival at %v", at)
		}
	}
}

// At the end of the range of the clock arrivals end; nothing overflows.
func TestTheClockDoesNotOverflow(t *testing.T) {
	for _, r := range []Rate{
		Steady(1e-6), Diurnal{Average: 1e-6, Swing: 1, Period: sim.Second},
		Phases{List: []Phase{{1e-6, 1e-6, 0}}},
		Phases{List: []Phase{{1e-6, 0, sim.Second}}, Repeat: true},
		Diurnal{Average: 1e-300, Period: sim.Never - 1},
		Phases{List: []Phase{{1, 1, sim.Second}, {0, 0, 0}}},
	} {
		times := start(t, Process{Rate: r}, 1)
		last := sim.Time(0)
		for range 1000 {
			at := times.Next()
			if at < last {
				t.Fatalf("%v: %v after %v", r, at, last)
			}
			last = at
		}
		if last != sim.Never {
			t.Errorf("%v: the thousandth arrival is at %v", r, last)
		}
	}
}

func TestDelay(t *testing.T) {
	draw, err := Delay{Mean: 5 * sim.Second}.Sampler(rand.NewPCG(1, 1))
	if err != nil || draw() != 5*sim.Second || draw() != 5*sim.Second {
		t.Errorf("a constant delay is not constant (error %v)", err)
	}
}

func TestErrorsSayWhatIsAllowed(t *testing.T) {
	nan, second := math.NaN(), sim.Second
	for want, p := range map[string]Process{
		"found no rate":                   {},
		"rate: found 0/s, allowed":        {Rate: Steady(0)},
		"rate: found NaN/s":               {Rate: Steady(nan)},
		"gamma: cv: found -1":             {Rate: Steady(1), Gaps: Gamma{-1}},
		"lognormal: cv: found NaN":        {Rate: Steady(1), Gaps: LogNormal{nan}},
		"weibull: shape: found 0.01":      {Rate: Steady(1), Gaps: Weibull{K: 0.01}},
		"weibull: found shape 1 and cv 1": {Rate: Steady(1), Gaps: Weibull{K: 1, CV: 1}},
		"weibull: cv: found 1000":         {Rate: Steady(1), Gaps: Weibull{CV: 1000}},
		"phases: found none":              {Rate: Phases{}},
		"phase 2: rate: found -1/s": {
			Rate: Phases{List: []Phase{{1, 1, second}, {-1, 1, second}}}},
		"phase 1: a ramp from 1/s to 2/s needs": {Rate: Phases{List: []Phase{{1, 2, 0}}}},
		"phase 1: length: found 0s": {
			Rate: Phases{List: []Phase{{1, 1, 0}}, Repeat: true}},
		"every rate is 0":                     {Rate: Phases{List: []Phase{{0, 0, 0}}}},
		"between): phase 2: length: found 0s": {Rate: Bursts{High: 3, For: second}},
		"diurnal: average: found 0/s":         {Rate: Diurnal{}},
		"diurnal: swing: found 1.5":           {Rate: Diurnal{Average: 1, Swing: 1.5}},
		"diurnal: period: found 0s":           {Rate: Diurnal{Average: 1, Swing: 1}},
		"diurnal: peak: found never": {
			Rate: Diurnal{Average: 1, Period: second, Peak: sim.Never}},
	} {
		_, err := p.Times(rand.NewPCG(1, 1), rand.NewPCG(1, 2))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want one with %q", p, err, want)
		}
	}
	if _, err := (Delay{Mean: -1}).Sampler(rand.NewPCG(1, 1)); err == nil {
		t.Error("a negative delay was taken")
	}
}

func TestProcessInWords(t *testing.T) {
	for want, p := range map[string]Process{
		"Poisson, 4/s":             {Rate: Steady(4)},
		"gamma (cv 2) gaps, 0.5/s": {Rate: Steady(0.5), Gaps: Gamma{2}},
		"constant gaps, 5/s":       {Rate: Steady(5), Gaps: Constant{}},
		"all at once":              {Rate: AtOnce{}},
		"Poisson, 1/s for 1m0s, then 1/s to 3/s for 1m0s, repeating": {
			Rate: Phases{[]Phase{{1, 1, minute}, {1, 3, minute}}, true}},
		"Poisson, bursts of 9/s for 1s on average, 1/s for 1m0s on average be": {
			Rate: Bursts{9, 1, sim.Second, minute, true}},
		"Poisson, 2/s on average, a wave of ±50% every 24h0m0s": {
			Rate: Diurnal{2, 0.5, 24 * 60 * minute, 0}},
	} {
		if got := p.String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func BenchmarkTimes(b *testing.B) {
	for _, p := range []Process{
		{Rate: Steady(20)}, {Rate: Steady(20), Gaps: Gamma{2}},
		{Rate: Steady(20), Gaps: Weibull{CV: 2}}, {Rate: changing()[1]}, {Rate: changing()[3]},
		{Rate: changing()[4]},
	} {
		b.Run(p.String(), func(b *testing.B) {
			times := start(b, p, 1)
			for b.Loop() {
				times.Next()
			}
		})
	}
}
