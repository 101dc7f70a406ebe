package accuracy

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A Forecast is how likely a server was said to keep an SLO, and whether it did.
type Forecast struct {
	Grade evidence.Grade
	// LeftOut reports whether the prediction is of a server that was left out of the fit.
	LeftOut bool
	// Load is the kind of the load: Closed, Open or Near.
	Load string
	// High reports whether a 99th percentile is limited.
	High bool
	// Chance is the computed chance, and Said what is known of it, both from 0 to 1.
	Chance, Said float64
	Kept         bool
}

// The kinds of loads: of clients that wait for their answers, of requests that arrive at a rate,
// and of such with latencies that grow by nearCapacity times as much as steps, or more.
const (
	Closed = "closed"
	Open   = "open"
	Near   = "near capacity"

	nearCapacity = 1.5
)

// sloFactors are the limits of SLOs as multiples of what is predicted.
var sloFactors = []float64{0.8, 0.9, 1, 1.1, 1.25, 1.5}

// quantileOf returns the latency that a quantity measures and its quantile, 0 for the mean; "" for
// other quantities.
func quantileOf(c *Comparison) (metric string, quantile float64) {
	metric = QuantityFamily(c.Quantity)
	switch {
	case strings.HasSuffix(c.Case, Saturated):
		return "", 0 // latencies follow from the length of the run
	case metric == evidence.E2E, metric == evidence.TTFT, metric == evidence.TPOT:
		quantiles := map[string]float64{"mean": 0, "p50": 0.5, "p90": 0.9, "p99": 0.99}
		q, known := quantiles[strings.TrimPrefix(c.Quantity, metric+" ")]
		if known {
			return metric, q
		}
		return "", 0
	}
	metric, rate := latency(c)
	if rate {
		return "", 0
	}
	return metric, 0
}

// Forecasts returns what was said of SLOs around the prediction of each measured latency of a
// server, and around the latencies of samples that were left out of the fit, which stand in for
// their rows where the other half of a server's rows is known.
func (r *Report) Forecasts(samples []Sample) []Forecast {
	var list []Forecast
	for c := range r.All() {
		metric, quantile := quantileOf(c)
		if metric == "" || c.Key.Engine == "" || c.Predicted <= 0 || c.Measured <= 0 {
			continue
		}
		grown := c.growth()
		if left := c.leftOut(); grown == nil && left != nil && left.Half != nil {
			continue
		}
		e := evidence.Of(c.Key, true)
		if s, ok := servedOf(c); ok && grown == nil {
			e = s.evidence()
		}
		say := func(e evidence.Evidence) {
			list = forecasts(list, Forecast{Grade: e.Grade, Load: grown.kind(),
				High: evidence.High(quantile)}, math.Log(c.Measured/c.Predicted),
				func(limit float64) float64 {
					return chanceOf(&e.Spread, metric, quantile, grown, limit)
				})
		}
		say(e)
		if s, ok := servedOf(c); ok && grown == nil && c.leftOut() == nil {
			say(s.under(evidence.Without(s.Key))) // which neither fit nor ranges have seen
		}
	}
	for i := range samples {
		s := &samples[i]
		f := Forecast{Grade: evidence.Measured, Load: Closed, LeftOut: s.Class == evidence.Other}
		switch {
		case s.Quantity == evidence.Rate || s.Class == "" || s.Class == evidence.Outside:
			continue
		case f.LeftOut:
			f.Grade = evidence.Relative
		case s.point.Load.Open:
			continue
		}
		list = forecasts(list, f, s.off, func(limit float64) float64 {
			return s.held.Law().Below(math.Exp(limit))
		})
	}
	return list
}

// forecasts adds what was said of SLOs, given the logarithm of the measured over the predicted
// latency and the chance that it is within a limit.
func forecasts(list []Forecast, f Forecast, off float64, chance func(float64) float64) []Forecast {
	for _, factor := range sloFactors {
		f.Kept, f.Chance = off <= math.Log(factor)+1e-9, chance(math.Log(factor))
		f.Said, _ = f.Grade.Supported(f.Chance, f.High)
		list = append(list, f)
	}
	return list
}

// growth is by how much the logarithm of a latency grows with the logarithm of the time of steps:
// the latency is Fast where steps are as fast as in one case of ten, and Slow where they are as
// slow.
type growth struct{ fast, slow, fastSteps, slowSteps float64 }

// kind is the kind of the load.
func (g *growth) kind() string {
	switch {
	case g == nil:
		return Closed
	case g.near():
		return Near
	}
	return Open
}

// near reports whether a latency grows by much more than steps do.
func (g *growth) near() bool { return g.fast-g.slow < nearCapacity*(g.fastSteps-g.slowSteps) }

// at returns the logarithm of the latency over the predicted one where steps take that much more.
func (g *growth) at(steps float64) float64 {
	fast, slow := g.fastSteps, g.slowSteps
	if steps < 0 && fast < 0 || slow <= 0 {
		return steps * g.fast / fast
	}
	return steps * g.slow / slow
}

// growth returns how the comparison's figure grows with steps; nil where that is not known.
func (c *Comparison) growth() *growth {
	if c.Fast <= 0 || c.Slow <= 0 {
		return nil
	}
	e := evidence.Of(c.Key, true)
	fast, slow := e.Spread.Range()
	return &growth{math.Log(c.Fast / c.Predicted), math.Log(c.Slow / c.Predicted), math.Log(fast),
		math.Log(slow)}
}

// slices of equal probability over which chances are averaged.
const slicesOfSteps = 20

// chanceOf returns the probability that a latency is within a limit, which is given as the
// logarithm of it over the predicted latency: the mean over times of steps, each with what the
// latency has beside steps.
func chanceOf(s *evidence.Spread, metric string, quantile float64, grown *growth,
	limit float64) float64 {
	whole := s.Of(metric, quantile).Law()
	if grown == nil {
		return whole.Below(math.Exp(limit))
	}
	steps := s.Of(evidence.TPOT, 0).Law()
	own := evidence.Law{Bias: whole.Bias - steps.Bias, Spread: math.Sqrt(max(0,
		float64(whole.Spread*whole.Spread)-float64(steps.Spread*steps.Spread)))}
	sum := 0.0
	for k := range slicesOfSteps {
		deviations := evidence.Deviations((float64(k) + 0.5) / slicesOfSteps)
		left := limit - grown.at(steps.Bias+float64(steps.Spread*deviations))
		sum += evidence.WithinGiven(own.DeviationsOf(math.Exp(left)), deviations)
	}
	return sum / slicesOfSteps
}

// Verified is how often a kind of forecasts came true.
type Verified struct {
	Of string `json:"of"`
	// From and To bound what was said. Cases counts the forecasts, Said is the mean of what was
	// said, and Kept the share that came true.
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Cases int     `json:"cases"`
	Said  float64 `json:"said"`
	Kept  float64 `json:"kept"`
	// Brier is the mean square of what was said less 1 or 0.
	Brier float64 `json:"brier"`
}

// All reports whether these are all forecasts of a kind.
func (v *Verified) All() bool { return v.From == 0 && v.To > 1 }

// Bands are the ranges [from, to) of chances of which a record is kept.
func Bands() (list [][2]float64) {
	bounds := append(evidence.ForecastsFrom(), 2)
	for i, to := range bounds[1:] {
		list = append(list, [2]float64{bounds[i], to})
	}
	return list
}

// verify sums up forecasts of a kind whose chances are in a band.
func verify(list []Forecast, of string, band [2]float64, chooses func(*Forecast) bool) Verified {
	v := Verified{Of: of, From: band[0], To: band[1]}
	for i := range list {
		f := &list[i]
		if f.Said < v.From || f.Said >= v.To || !chooses(f) {
			continue
		}
		v.Cases++
		came := 0.0
		if f.Kept {
			came = 1
		}
		v.Said += f.Said
		v.Kept += came
		v.Brier += float64((f.Said - came) * (f.Said - came))
	}
	if n := float64(v.Cases); n > 0 {
		v.Said, v.Kept, v.Brier = v.Said/n, v.Kept/n, v.Brier/n
	}
	return v
}

// Kind is the evidence of forecasts.csv for which a forecast counts.
func (f *Forecast) Kind() evidence.Grade {
	switch {
	case f.LeftOut:
		return evidence.LeftOutOfFit
	case f.Grade == evidence.Measured:
		return evidence.Measured
	}
	return evidence.OutsideOfFit
}

// Chances says how often what is said of SLOs came true: of each kind, all forecasts and then those
// with a chance between some bounds.
func Chances(list []Forecast) []Verified {
	var table []Verified
	measured := func(f *Forecast) bool { return f.Kind() == evidence.Measured }
	for _, kind := range []struct {
		name string
		is   func(*Forecast) bool
	}{
		{"measured", measured},
		{"measured, 99th percentiles", func(f *Forecast) bool { return measured(f) && f.High }},
		{"measured, open loads", func(f *Forecast) bool { return measured(f) && f.Load == Open }},
		{"measured, near capacity",
			func(f *Forecast) bool { return measured(f) && f.Load == Near }},
		{"not measured", func(f *Forecast) bool { return f.Kind() == evidence.OutsideOfFit }},
		{"left out of the fit", func(f *Forecast) bool { return f.LeftOut }},
	} {
		for _, band := range slices.Insert(Bands(), 0, [2]float64{0, 2}) {
			if v := verify(list, kind.name, band, kind.is); v.Cases > 0 {
				table = append(table, v)
			}
		}
	}
	return table
}

// writeChances prints how often what is said of SLOs came true.
func writeChances(b *bytes.Buffer, list []Verified) {
	if len(list) == 0 {
		return
	}
	fmt.Fprint(b, "Chances that an SLO is kept, for limits of 0.8 to 1.5 times each predicted "+
		"latency\n")
	for i := range list {
		v := &list[i]
		if v.All() {
			fmt.Fprintf(b, "  %s: %d cases, Brier score %.3f\n  %12s %8s %8s %8s\n", v.Of, v.Cases,
				v.Brier, "said", "cases", "mean", "came")
			continue
		}
		fmt.Fprintf(b, "  %5.0f–%3.0f %% %8d %6.0f %% %6.0f %%\n", 100*v.From, 100*min(1, v.To),
			v.Cases, 100*v.Said, 100*v.Kept)
	}
	b.WriteByte('\n')
}
