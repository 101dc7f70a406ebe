package sim

import (
	"math"
	"time"
)

// Time is a point in simulated time, or a span of it, in picoseconds. Its range is about ±106 days;
// a simulation that would go on longer ends with an error.
type Time int64

// Units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every event.
const Never Time = math.MaxInt64

// Seconds returns the span of s seconds, rounded to the nearest picosecond. Spans out of range
// saturate at ±Never; NaN gives 0.
func Seconds(s float64) Time {
	ps := math.Round(s * float64(Second))
	switch {
	case ps != ps:
		return 0
	case ps >= math.MaxInt64:
		return Never
	case ps <= -math.MaxInt64:
		return -Never
	}
	return Time(ps)
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
