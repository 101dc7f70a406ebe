// Package stats says how much of a simulation's output is warm-up, how uncertain its means are
// (Interval), and in which ranges the figures of a run lie (Ranges).
package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Interval is a confidence interval, Mean ± Half. Half is +Inf for a single observation, which says
// nothing about the spread.
type Interval struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half_width"`
}

// IsZero reports whether there was nothing to observe, so that Mean is NaN. The tag omitzero then
// leaves the interval out.
func (i Interval) IsZero() bool { return math.IsNaN(i.Mean) }

// written is an interval in JSON, where an unknown half width is null.
type written struct {
	Mean float64  `json:"mean"`
	Half *float64 `json:"half_width"`
}

// MarshalJSON writes an unknown half width as null.
func (i Interval) MarshalJSON() ([]byte, error) {
	w := written{i.Mean, &i.Half}
	if math.IsInf(i.Half, 1) {
		w.Half = nil
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var read written
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*i = Interval{Mean: read.Mean, Half: math.Inf(1)}
	if read.Half != nil {
		i.Half = *read.Half
	}
	return nil
}

// Excludes reports whether x lies outside of the interval.
func (i Interval) Excludes(x float64) bool { return math.Abs(i.Mean-x) > i.Half }

// Rounding is the size, as a share of the terms, below which a sum or a difference is a rounding
// error.
const Rounding = 1e-9

// Mean returns the mean of at least one independent observation, with its interval at a confidence
// in (0, 1), by Student's t. The mean is 0 if the observations cancel but for a rounding error.
func Mean(observations []float64, confidence float64) Interval {
	if len(observations) == 1 {
		return Interval{Mean: observations[0], Half: math.Inf(1)}
	}
	n := float64(len(observations))
	mean, deviation := MeanDeviation(observations)
	if deviation == 0 { // and so is the width, whatever t is
		return Interval{Mean: mean}
	}
	largest := 0.0
	for _, x := range observations {
		largest = max(largest, math.Abs(x))
	}
	if math.Abs(mean) < Rounding*largest {
		mean = 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	return Interval{Mean: mean, Half: t * deviation / math.Sqrt(n)}
}

// BatchMean is Mean for a series of observations that are not independent. It divides them into the
// given number of batches, whose means count as independent (Law, "Simulation Modeling and
// Analysis", 5th edition, 9.5.3). Each batch needs at least one observation.
func BatchMean(series []float64, count int, confidence float64) Interval {
	return Mean(batches(series, len(series)/count)[:count], confidence)
}

// MeanDeviation returns the mean and the sample standard deviation of observations; NaN where too
// few are given. It sums in order, so that all machines return the same bits, which gonum's vector
// instructions do not.
func MeanDeviation(observations []float64) (mean, deviation float64) {
	n := float64(len(observations))
	for _, x := range observations {
		mean += x
	}
	mean /= n
	for _, x := range observations {
		deviation += float64((x - mean) * (x - mean))
	}
	return mean, math.Sqrt(deviation / (n - 1))
}

// Response says how a figure depends on step times. It has the value with steps as predicted, and
// with steps as fast and as slow as they are in one case of ten each.
type Response struct {
	Plain, Fast, Slow float64
	// Spread says how wrong the predictions may be.
	Spread evidence.Spread
}

// Factors returns the factors on step times for the fast and the slow runs of a response.
func Factors(e evidence.Spread) (fast, slow float64) {
	return factor(e, (1-Level)/2), factor(e, (1+Level)/2)
}

// Difference returns the range of a metric's difference between two systems, other over first,
// around the simulated difference. If both systems share their errors, as on the same accelerators
// under the same engine, their steps are slower and faster together, by the smaller of their
// spreads. The rest of the larger spread, or both spreads if nothing is shared, counts as
// independent. Noise is the half width of the range over seeds.
func Difference(m scenarios.Metric, first, other Response, shared bool, seen,
	noise float64) scenarios.Range {
	common := evidence.Spread{}
	if shared {
		common.TPOT = min(first.Spread.TPOT, other.Spread.TPOT)
		common.TTFT = min(beside(m, first.Spread, 0).Spread,
			beside(m, other.Spread, 0).Spread)
	}
	down, up := float64(noise*noise), float64(noise*noise)
	add := func(fast, slow float64) {
		low, high := min(fast, slow, 0), max(fast, slow, 0)
		down += float64(low * low)
		up += float64(high * high)
	}
	a, b := part(common.TPOT, first.Spread.TPOT), part(common.TPOT, other.Spread.TPOT)
	add(b*(other.Fast-other.Plain)-a*(first.Fast-first.Plain),
		b*(other.Slow-other.Plain)-a*(first.Slow-first.Plain))
	for _, own := range []struct {
		Response
		part, sign float64
	}{{first, a, -1}, {other, b, 1}} {
		rest := own.sign * math.Sqrt(1-own.part*own.part)
		add(rest*(own.Fast-own.Plain), rest*(own.Slow-own.Plain))
		o := beside(m, own.Spread, 0)
		half := float64(own.Plain * distuv.UnitNormal.Quantile((1+Level)/2) *
			math.Sqrt(float64(o.Spread*o.Spread)-float64(common.TTFT*common.TTFT)))
		shift := float64(own.sign * own.Plain * math.Expm1(o.Bias))
		if shared {
			shift = 0
		}
		add(shift-half, shift+half)
	}
	return scenarios.Range{Low: rounded(seen - math.Sqrt(down)),
		High: rounded(seen + math.Sqrt(up))}
}

// part returns the common spread as a part of one's own.
func part(common, own float64) float64 {
	if own == 0 {
		return 0
	}
	return common / own
}

// mserBatch is the number of observations averaged before truncation: the 5 of MSER-5.
const mserBatch = 5

// WarmUp returns how many of the first observations to drop, by the marginal standard error rule on
// means of five: the truncation point d minimises Σ(Yᵢ − Ȳ)² / (n − d)² over what remains (White,
// "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997;
// MSER-5 after White, Cobb and Spratt, Winter Simulation Conference 2000). A minimum in the second
// half means that the series has not settled: then nothing is to be dropped, and settled is false.
func WarmUp(series []float64) (drop int, settled bool) {
	means := batches(series, mserBatch)
	best, at := 0.0, -1
	var sum, squares, n float64
	// From the end, so that the sums over what remains grow by one term at a time. The last few
	// alone say nothing.
	for d := len(means) - 1; d >= 0; d-- {
		y := means[d]
		n++
		delta := y - sum/max(1, n-1)
		if n == 1 {
			delta = 0
		}
		squares += delta * delta * (n - 1) / n // Welford's update
		sum += y
		if n < mserBatch {
			continue
		}
		if error := squares / (n * n); at < 0 || error <= best {
			best, at = error, d
		}
	}
	if at < 0 {
		return 0, true // too short to tell
	}
	if 2*at > len(means) {
		return 0, false
	}
	return at * mserBatch, true
}

// batches returns the means of runs of size observations, and drops an incomplete last run.
func batches(series []float64, size int) []float64 {
	means := make([]float64, len(series)/size)
	for i := range means {
		for _, y := range series[i*size : (i+1)*size] {
			means[i] += y
		}
		means[i] /= float64(size)
	}
	return means
}

const (
	// Level is the share of cases in which a range contains the measured value.
	Level = 0.8
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

// beside returns the part of a metric's error that step times do not explain: the logarithm of the
// measured over the predicted value. Times to first token have more, whole requests the share of
// them that is the time to first token, and high percentiles an error of their own.
func beside(m scenarios.Metric, e evidence.Spread, share float64) evidence.Law {
	quantile := 0.0
	if strings.HasPrefix(m.Name, "p99") {
		quantile = 0.99
	}
	own := func(metric string, quantile float64) evidence.Law {
		l := e.Of(metric, quantile).Law()
		l.Bias -= e.TPOTBias
		if metric == evidence.TTFT {
			l.Bias += e.DecodeBias
		}
		l.Spread = math.Sqrt(max(0, float64(l.Spread*l.Spread)-float64(e.TPOT*e.TPOT)))
		return l
	}
	switch {
	case strings.Contains(m.Name, "ttft"):
		return own(evidence.TTFT, quantile)
	case strings.Contains(m.Name, "tpot"):
		return own(evidence.TPOT, quantile)
	case strings.Contains(m.Name, "e2el"):
		whole, first := own(evidence.E2E, quantile), own(evidence.TTFT, 0)
		return evidence.Law{Bias: whole.Bias + float64(share*first.Bias),
			Spread: math.Hypot(whole.Spread, share*first.Spread)}
	}
	return evidence.Law{}
}

// shareOfTTFT returns how much of the time of a request is the time to its first token.
func shareOfTTFT(r *scenarios.Result) float64 {
	if r.MeanE2EL <= 0 {
		return 0
	}
	return min(1, r.MeanTTFT/r.MeanE2EL)
}

// Later makes limits as much stricter as latencies are later: of TTFT by a factor, and of whole
// requests as far as TTFT is a share of them.
func Later(s *scenarios.Scenario, factor, share float64) {
	later := func(slo *scenarios.SLO) {
		slo.TTFT = slo.TTFT.Scaled(1 / factor)
		if share > 0 {
			slo.E2E = slo.E2E.Scaled(1 / (1 + float64(share*(factor-1))))
		}
	}
	later(&s.SLO)
	s.Workload.Classes = slices.Clone(s.Workload.Classes)
	for i := range s.Workload.Classes {
		later(&s.Workload.Classes[i].SLO)
	}
}

// Ranges returns the ranges of the metrics of a result. Load reads its scenario anew.
func Ranges(ctx context.Context, load func() (*scenarios.File, error),
	r *scenarios.Result) (*scenarios.Intervals, error) {
	e := r.Evidence.Spread
	requests := min(r.Sent(), mostRequests)
	if requests == 0 {
		return nil, nil
	}
	share := shareOfTTFT(r)
	run := func(seed uint64, factor, late float64) (*scenarios.Result, error) {
		f, err := load()
		if err != nil {
			return nil, err
		}
		f.Scenario.Seed += seed
		if r.Sent() > mostRequests {
			f.Scenario.Workload.Requests = mostRequests
		}
		SlowDown(&f.Scenario, factor, e)
		if late != 1 {
			f.Scenario.SLO = f.Scenario.SLO.Complete()
			Later(&f.Scenario, late, share)
		}
		return f.Run(ctx, policies.Default())
	}
	// An SLO is kept or missed by both latencies: each is as late as in one case of ten.
	first := evidence.Law{Bias: e.TTFTBias, Spread: max(e.TTFT, e.TPOT)}
	pace := func(p float64) (*scenarios.Result, error) {
		steps := factor(e, p)
		return run(0, steps, first.Quantile(p)/e.PromptSteps(steps))
	}
	fast, err := pace((1 - Level) / 2)
	if err != nil {
		return nil, err
	}
	late, err := pace((1 + Level) / 2)
	if err != nil {
		return nil, err
	}
	var plain []*scenarios.Result
	for seed := range uint64(seeds) {
		one, err := run(seed, 1, 1)
		if err != nil {
			return nil, err
		}
		plain = append(plain, one)
	}
	scenarios.PriceAlike(append(plain, fast, late)...)
	list := &scenarios.Intervals{Level: Level, Runs: seeds + 2, Requests: requests,
		Of: map[string]scenarios.Range{}}
	shorter := math.Sqrt(float64(requests) / float64(r.Sent()))
	for _, m := range scenarios.Metrics() {
		if ranged(m) && (r.Diagnosis.Load != scenarios.Overloaded || ofRate(m)) {
			if of, known := span(m, r, fast, late, plain, shorter, e); known {
				list.Of[m.Name] = of
			}
		}
	}
	return list, nil
}

// SlowDown multiplies the times of all steps of a scenario by a factor: in servers that only
// compute prompts by evidence.Spread.PromptSteps of it.
func SlowDown(s *scenarios.Scenario, factor float64, e evidence.Spread) {
	scale := func(of *scenarios.Engine, by float64) { of.Slowdown = cmp.Or(of.Slowdown, 1) * by }
	for i := range s.Fleet.Pools {
		p, prompts := &s.Fleet.Pools[i], e.PromptSteps(factor)
		switch {
		case p.Role == "prefill" && prompts != factor:
			p.Engine = cmp.Or(p.Engine, s.Engine)
			scale(&p.Engine, prompts)
		case p.Engine != (scenarios.Engine{}):
			scale(&p.Engine, factor)
		}
	}
	scale(&s.Engine, factor)
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

// ofRate reports whether a metric follows from the rate of tokens. Where requests arrive faster
// than the servers bear, latencies follow from the length of the run, and only these metrics have
// ranges.
func ofRate(m scenarios.Metric) bool {
	return strings.HasSuffix(m.Name, "throughput") ||
		strings.HasPrefix(m.Name, "cost_per_million") ||
		strings.HasPrefix(m.Name, "energy_per_million")
}

// span combines the effects of slower and faster steps, of other random numbers and of other errors
// on a metric. They are independent, so the squares of their parts add up. All metrics except
// shares are combined in logarithms. It returns false where a run does not have the figure, as the
// time of a request where steps are so slow that all users leave.
func span(m scenarios.Metric, r, fast, late *scenarios.Result, plain []*scenarios.Result,
	shorter float64, e evidence.Spread) (of scenarios.Range, known bool) {
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
			return of, false
		}
	}
	for i := range seen {
		seen[i] = forward(seen[i])
	}
	_, deviation := MeanDeviation(seen)
	own := beside(m, e, shareOfTTFT(r))
	noise := math.Hypot(deviation*shorter, own.Spread) * distuv.UnitNormal.Quantile((1+Level)/2)
	a, b := forward(m.Of(fast))-seen[0], forward(m.Of(late))-seen[0]
	middle := effect(e.TPOTBias, a, b, e)
	if width := float64(e.Rate * distuv.UnitNormal.Quantile((1+Level)/2)); ofRate(m) && width > 0 {
		middle = effect(e.RateBias, a, b, e)
		a, b = effect(e.RateBias-width, a, b, e), effect(e.RateBias+width, a, b, e)
	}
	centre := forward(value) + middle + own.Bias
	of = scenarios.Range{
		Low:  back(centre - math.Hypot(middle-min(a, b, middle), noise)),
		High: back(centre + math.Hypot(max(a, b, middle)-middle, noise)),
	}
	if m.Unit == scenarios.Share { // shares end at 0 and 1, sums of effects do not
		of.Low, of.High = max(0, min(1, of.Low)), min(1, max(0, of.High))
	}
	of = scenarios.Range{Low: rounded(of.Low), High: rounded(of.High)}
	if r.Evidence.Factor == 0 || strings.Contains(m.Name, "ttft") { // else it is known to be off
		of = scenarios.Range{Low: min(value, of.Low), High: max(value, of.High)}
	}
	return of, true
}

// effect returns by how much a figure differs from the plain run where steps take e^x times as long
// as predicted, given by how much it does where they are as fast and as slow as in one case of ten
// each: by linear interpolation between the three, and extrapolation beyond.
func effect(x, fast, slow float64, e evidence.Spread) float64 {
	width := float64(e.TPOT * distuv.UnitNormal.Quantile((1+Level)/2))
	if width == 0 {
		return 0
	}
	points := [][2]float64{{0, 0}, {e.TPOTBias - width, fast}, {e.TPOTBias + width, slow}}
	slices.SortFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	from, to := points[0], points[1]
	if x > to[0] || to[0] == from[0] {
		from, to = points[1], points[2]
	}
	if to[0] == from[0] {
		from = points[0]
	}
	return from[1] + (to[1]-from[1])*(x-from[0])/(to[0]-from[0])
}

// rounded keeps four digits: a range is known to fewer.
func rounded(x float64) float64 { return units.Rounded(x, 4) }
