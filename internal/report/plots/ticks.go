package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/units"
)

// plainTicks marks some five multiples of 1, 2 or 5 times a power of ten, with numbers as people
// write them, up to the most that there can be; 0 for no end.
type plainTicks struct{ most float64 }

// mostSteps is the most steps that a mark may be from 0. Above 2^53 a float64 counts no further;
// the ends are marked of a range so narrow.
const mostSteps = 1 << 50

// Ticks implements plot.Ticker.
func (t plainTicks) Ticks(low, high float64) []plot.Tick {
	step := tickStep(high - low)
	if !(step > 0) || math.IsInf(step, 0) {
		return plot.DefaultTicks{}.Ticks(low, high)
	}
	if farthest := max(math.Abs(low), math.Abs(high)); farthest/step > mostSteps {
		return []plot.Tick{{Value: low, Label: number(low, step)},
			{Value: high, Label: number(high, step)}}
	}
	var ticks []plot.Tick
	// A hair beyond the ends counts: low/step of 0.3/0.1 is less than 3.
	if t.most > 0 {
		high = min(high, t.most)
	}
	for n := math.Ceil(low/step - 1e-9); n*step <= high+1e-9*step; n++ {
		// Rounded, a multiple may lie beyond an end by the last digit.
		ticks = append(ticks, plot.Tick{Value: max(low, min(high, n*step)),
			Label: number(n*step, step)})
	}
	return ticks
}

// number is a multiple of a step as people write it: 2500, 25,000 and 0.1.
func number(x, step float64) string {
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	switch {
	case x == 0:
		return "0" // and not -0
	case decimals > 4 || math.Abs(x) >= 1e15:
		// Neighbours differ in the digit of a step; a float64 has 17.
		digits := 2 + math.Log10(math.Abs(x)/step)
		return strconv.FormatFloat(x, 'g', max(12, min(17, int(digits))), 64)
	case decimals == 0 && x >= 1e4:
		return units.Figure(x)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// tickStep returns 1, 2 or 5 times a power of ten; four to nine such steps make up a range.
func tickStep(span float64) float64 {
	rough := span / 5
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	switch m := rough / power; {
	case m < 1.5:
		return power
	case m < 3.5:
		return 2 * power
	case m < 7.5:
		return 5 * power
	}
	return 10 * power
}

// logTicks marks powers of ten with plain numbers, and their multiples without, as far as the
// powers are labels enough: over less than two decades 2 and 5 times a power are labelled too, over
// less than half a decade all multiples.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(low); e <= math.Ceil(high); e++ {
		for m := 1.0; m < 10; m++ {
			tick := plot.Tick{Value: e + math.Log10(m)}
			if tick.Value < low || tick.Value > high {
				continue
			}
			if m == 1 || (m == 2 || m == 5) && high-low < 2 || high-low < 0.5 {
				tick.Label = number(m*math.Pow(10, e), m*math.Pow(10, e))
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// logTimes are logTicks of times, with a unit at each: 10 ms, 1 s. Values are in a unit of some
// seconds.
type logTimes struct{ seconds float64 }

// Ticks implements plot.Ticker.
func (t logTimes) Ticks(low, high float64) []plot.Tick {
	ticks := logTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			// Hundreds of seconds are read more easily than fractions of minutes.
			if s := math.Pow(10, ticks[i].Value) * t.seconds; s >= 1 {
				ticks[i].Label = number(math.Round(s), 1) + " s"
			} else {
				ticks[i].Label = units.FormatDuration(s)
			}
		}
	}
	return ticks
}

// times are plainTicks of times, with a unit at each. Values are in a unit of some seconds.
type times struct{ seconds float64 }

// Ticks implements plot.Ticker.
func (t times) Ticks(low, high float64) []plot.Tick {
	ticks := plainTicks{}.Ticks(low, high)
	for i := range ticks {
		if v := ticks[i].Value; v > 0 {
			ticks[i].Label = units.FormatDuration(v * t.seconds)
		}
	}
	return ticks
}

// TimeUnit returns the unit in which times of up to a number of seconds are read easily, and its
// length in seconds.
func TimeUnit(most float64) (name string, seconds float64) {
	switch {
	case most >= 2*3600:
		return "h", 3600
	case most >= 600:
		return "min", 60
	case most >= 2:
		return "s", 1
	}
	return "ms", 1e-3
}
