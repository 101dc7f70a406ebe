package sim

import (
	"math"
	"time"
)

// Time is a point in simulated time, or a span of it, in ticks of 10 ps. Its range is about ±2.9
// years. A simulation that would last longer ends with an error.
type Time int64

// Units of Time.
const (
	Tick        Time = 1
	Nanosecond       = 100 * Tick
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every event.
const Never Time = math.MaxInt64

// Seconds returns the span of s seconds, rounded to the nearest tick. Spans out of range saturate
// at ±Never; NaN gives 0.
func Seconds(s float64) Time {
	ticks := float64(s * float64(Second))
	if ticks >= 0 && ticks < math.MaxInt64/2 { // quicker than math.Round
		whole := Time(ticks)
		return whole + Time(2*(ticks-float64(whole)))
	}
	ticks = math.Round(ticks)
	switch {
	case ticks != ticks:
		return 0
	case ticks >= math.MaxInt64:
		return Never
	case ticks <= -math.MaxInt64:
		return -Never
	}
	return Time(ticks)
}

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Milliseconds returns t in milliseconds.
func (t Time) Milliseconds() float64 { return float64(t) / float64(Millisecond) }

// String prints t as a duration, to the nanosecond.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t / Nanosecond).String()
}

// later returns at + span, or Never if the sum is out of range.
func later(at, span Time) Time {
	if span >= Never-at {
		return Never
	}
	return at + span
}
