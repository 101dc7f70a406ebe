package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Diurnal is a rate that follows a daily wave: Average·(1 + Swing·cos(2π(t − Peak)/Period)).
type Diurnal struct {
	// Average is the mean rate in arrivals/s, above 0.
	Average float64
	// Swing is the height of the wave relative to the average, 0 to 1.
	Swing float64
	// Period is the length of a day, 1 ms or more; Peak is when the rate is highest, from 0.
	Period, Peak sim.Time
}

// Pacer implements Rate.
func (d Diurnal) Pacer(rand.Source) (Pacer, error) {
	switch {
	case !(d.Average > 0) || !finite(d.Average):
		return nil, fmt.Errorf("diurnal: average: found %v/s, allowed: finite numbers above 0",
			d.Average)
	case !(d.Swing >= 0 && d.Swing <= 1):
		return nil, fmt.Errorf("diurnal: swing: found %v, allowed: 0 to 1", d.Swing)
	case d.Period < sim.Millisecond || d.Period == sim.Never:
		return nil, fmt.Errorf("diurnal: period: found %v, allowed: 1ms or more, and finite",
			d.Period)
	case d.Peak < 0 || d.Peak == sim.Never:
		return nil, fmt.Errorf("diurnal: peak: found %v, allowed: finite spans from 0", d.Peak)
	}
	return &wave{
		perCycle: d.Average * d.Period.Seconds(),
		swing:    d.Swing,
		period:   d.Period,
		phase:    -float64(d.Peak%d.Period) / float64(d.Period),
	}, nil
}

// Mean implements Rate.
func (d Diurnal) Mean() float64 { return d.Average }

// Ends implements Rate.
func (Diurnal) Ends() bool { return false }

func (d Diurnal) String() string {
	return fmt.Sprintf("%s on average, a wave of ±%g%% every %v",
		units.FormatRequestRate(d.Average), d.Swing*100, d.Period)
}

// wave is a Pacer for a sinusoidal rate.
type wave struct {
	// perCycle is the number of arrivals expected in a period.
	perCycle float64
	swing    float64
	period   sim.Time
	// phase is the argument of the cosine at time 0, in turns.
	phase float64

	// start is the start of the current period and into the position in it, in periods from 0 to 1.
	start sim.Time
	into  float64
}

func (w *wave) Advance(expected float64) sim.Time {
	whole, part := math.Modf(expected / w.perCycle)
	w.into += w.solve(part)
	if w.into >= 1 {
		w.into--
		whole++
	}
	w.start = later(w.start, sim.Seconds(whole*w.period.Seconds()))
	return later(w.start, sim.Seconds(w.into*w.period.Seconds()))
}

// grown returns the share of a cycle's arrivals expected in the next x periods, and its derivative.
// The difference of sines is written as a product, which keeps its digits when x is small.
func (w *wave) grown(x float64) (share, slope float64) {
	from := w.phase + w.into
	share = x + float64(w.swing/math.Pi*cosine(from+x/2)*sine(x/2))
	return share, 1 + float64(w.swing*cosine(from+x))
}

// solve returns the number of periods, 0 to 1, in which the given share of a cycle's arrivals, 0 to
// 1, is expected: Newton's method, kept inside a bracket by bisection.
func (w *wave) solve(share float64) float64 {
	low, high := 0.0, 1.0
	x := share
	for range 100 {
		y, slope := w.grown(x)
		if y == share {
			return x
		}
		if y < share {
			low = x
		} else {
			high = x
		}
		next := x - (y-share)/slope
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-15*x {
			return next
		}
		x = next
	}
	return x
}

// sine returns the sine of an angle in turns. It gives the same bits on every machine, which
// math.Sin does not: each product is rounded before it is added, also where a processor could do
// both at once.
func sine(turns float64) float64 {
	turns -= math.Round(turns) // from -1/2 to 1/2
	switch {
	case turns > 0.25:
		turns = 0.5 - turns
	case turns < -0.25:
		turns = -0.5 - turns
	}
	// The Taylor series; its next term is below 1e-18 up to a quarter of a turn.
	x := 2 * math.Pi * turns
	square := float64(x * x)
	sum := 0.0
	for n := 21.0; n > 1; n -= 2 {
		sum = float64((1-sum)*square) / (n * (n - 1))
	}
	return x * (1 - sum)
}

// cosine returns the cosine of an angle in turns, see sine.
func cosine(turns float64) float64 { return sine(turns + 0.25) }
