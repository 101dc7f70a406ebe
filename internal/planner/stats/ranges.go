package stats

import (
	"context"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

const (
	// level is the share of cases in which a range contains the measured value.
	level = 0.8
	// mostRequests is the largest number of requests of the runs for ranges. The ranges of a longer
	// run are computed from them.
	mostRequests = 3000
	// seeds is the number of runs with predicted steps, which show the noise.
	seeds = 3
)

// factor returns the factor on step times that is not exceeded with probability p.
func factor(e evidence.Spread, p float64) float64 {
	return math.Exp(e.TPOTBias + float64(e.TPOT*distuv.UnitNormal.Quantile(p)))
}

// besides is the part of a metric's error that step times do not explain. It is the logarithm of
// the measured over the predicted value, around a bias.
type besides struct{ bias, deviation float64 }

// beside returns it. Only times to first token have more.
func beside(m scenarios.Metric, e evidence.Spread) besides {
	if !strings.Contains(m.Name, "ttft") {
		return besides{}
	}
	return besides{e.TTFTBias - e.TPOTBias,
		math.Sqrt(max(0, float64(e.TTFT*e.TTFT)-float64(e.TPOT*e.TPOT)))}
}

// Ranges returns the ranges of the metrics of a result. Load reads its scenario anew.
func Ranges(ctx context.Context, load func() (*scenarios.File, error),
	r *scenarios.Result) (*scenarios.Intervals, error) {
	e := r.Evidence.Spread
	requests := min(r.Sent(), mostRequests)
	if requests == 0 {
		return nil, nil
	}
	run := func(seed uint64, factor float64) (*scenarios.Result, error) {
		f, err := load()
		if err != nil {
			return nil, err
		}
		f.Scenario.Seed += seed
		if r.Sent() > mostRequests {
			f.Scenario.Workload.Requests = mostRequests
		}
		SlowDown(&f.Scenario, factor)
		return f.Run(ctx, policies.Default())
	}
	fast, err := run(0, factor(e, (1-level)/2))
	if err != nil {
		return nil, err
	}
	late, err := run(0, factor(e, (1+level)/2))
	if err != nil {
		return nil, err
	}
	var plain []*scenarios.Result
	for seed := range uint64(seeds) {
		one, err := run(seed, 1)
		if err != nil {
			return nil, err
		}
		plain = append(plain, one)
	}
	scenarios.PriceAlike(append(plain, fast, late)...)
	list := &scenarios.Intervals{Level: level, Runs: seeds + 2, Requests: requests,
		Of: map[string]scenarios.Range{}}
	shorter := math.Sqrt(float64(requests) / float64(r.Sent()))
	for _, m := range scenarios.Metrics() {
		if ranged(m) {
			list.Of[m.Name] = span(m, r, fast, late, plain, shorter, e)
		}
	}
	return list, nil
}

// SlowDown multiplies the times of all steps of a scenario by a factor.
func SlowDown(s *scenarios.Scenario, factor float64) {
	scale := func(e *scenarios.Engine) {
		if e.Slowdown == 0 {
			e.Slowdown = 1
		}
		e.Slowdown *= factor
	}
	scale(&s.Engine)
	for i := range s.Fleet.Pools {
		if p := &s.Fleet.Pools[i]; p.Engine != (scenarios.Engine{}) {
			scale(&p.Engine)
		}
	}
}

// ranged reports whether a metric gets a range: a metric that compares systems and is not a count
// of a run.
func ranged(m scenarios.Metric) bool {
	switch m.Unit {
	case scenarios.Milliseconds, scenarios.PerSeconds, scenarios.Share:
		return m.Better != scenarios.Neither
	}
	return m.Name == "cost_per_million_output_tokens" ||
		m.Name == "energy_per_million_output_tokens"
}

// span combines the effects of slower and faster steps, of other random numbers and of other errors
// on a metric. They are independent, so the squares of their parts add up. All metrics except
// shares are combined in logarithms.
func span(m scenarios.Metric, r, fast, late *scenarios.Result, plain []*scenarios.Result,
	shorter float64, e evidence.Spread) scenarios.Range {
	forward, back := math.Log, math.Exp
	if m.Unit == scenarios.Share {
		same := func(x float64) float64 { return x }
		forward, back = same, same
	}
	value := m.Of(r)
	var seen []float64
	for _, one := range plain {
		seen = append(seen, m.Of(one))
	}
	for _, x := range append(seen, value, m.Of(fast), m.Of(late)) {
		if x <= 0 && m.Unit != scenarios.Share || math.IsNaN(x) {
			// nothing to reckon with, as TPOT where answers have one token
			return scenarios.Range{Low: value, High: value}
		}
	}
	for i := range seen {
		seen[i] = forward(seen[i])
	}
	_, deviation := MeanDeviation(seen)
	noise := math.Hypot(deviation*shorter,
		beside(m, e).deviation) * distuv.UnitNormal.Quantile((1+level)/2)
	a, b := forward(m.Of(fast))-seen[0], forward(m.Of(late))-seen[0]
	middle := typical(a, b, e)
	centre := forward(value) + middle + beside(m, e).bias
	result := scenarios.Range{
		Low:  back(centre - math.Hypot(middle-min(a, b, middle), noise)),
		High: back(centre + math.Hypot(max(a, b, middle)-middle, noise)),
	}
	if m.Unit == scenarios.Share { // shares end at 0 and 1, sums of effects do not
		result.Low, result.High = max(0, result.Low), min(1, result.High)
	}
	return scenarios.Range{Low: min(value, rounded(result.Low)),
		High: max(value, rounded(result.High))}
}

// typical returns by how much a figure differs from the plain run where steps take as long as they
// typically do, given by how much it does where they are as fast and as slow as in one case of ten
// each: by linear interpolation between the three.
func typical(fast, slow float64, e evidence.Spread) float64 {
	if e.TPOTBias == 0 || e.TPOT == 0 {
		return 0
	}
	width := distuv.UnitNormal.Quantile((1 + level) / 2)
	plain := -e.TPOTBias / e.TPOT // where the plain run is, in standard deviations
	switch {
	case math.Abs(plain) >= width:
		return (fast + slow) / 2
	case plain < 0:
		return slow * -plain / (width - plain)
	}
	return fast * plain / (width + plain)
}

// rounded keeps four digits: a range is known to fewer, and machines agree on these.
func rounded(x float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return short
}
