package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Level is the share of cases in which a range contains the measured value.
const Level = level

// Response says how a figure depends on step times. It has the value with steps as predicted, and
// with steps as fast and as slow as they are in one case of ten each.
type Response struct {
	Plain, Fast, Slow float64
	// Spread says how wrong the predictions may be.
	Spread evidence.Spread
}

// Factors returns the factors on step times for the fast and the slow runs of a response.
func Factors(e evidence.Spread) (fast, slow float64) {
	return factor(e, (1-level)/2), factor(e, (1+level)/2)
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
		common.TTFT = min(beside(m, first.Spread).deviation, beside(m, other.Spread).deviation)
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
		o := beside(m, own.Spread)
		half := float64(own.Plain * distuv.UnitNormal.Quantile((1+level)/2) *
			math.Sqrt(float64(o.deviation*o.deviation)-float64(common.TTFT*common.TTFT)))
		shift := float64(own.sign * own.Plain * math.Expm1(o.bias))
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
