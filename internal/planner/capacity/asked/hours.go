package asked

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Day is the period of a wave that names no period.
const Day = scenarios.Span(24 * 3600 * sim.Second)

// hour is the least period of phases whose highest rate counts, as that of a wave does: fleets
// are judged by whole periods of shorter ones. It is also the time for which a replica is paid at
// least.
const hour = Day / 24

// periodOf returns the period of a wave, or of phases that repeat; 0 of other rates.
func periodOf(r *scenarios.Rate) (period scenarios.Span) {
	switch {
	case r.Pattern == "wave":
		return cmp.Or(r.Period, Day)
	case r.Pattern == "phases" && r.Repeat:
		for i := range r.Phases {
			period += r.Phases[i].For
		}
	}
	return period
}

// end returns the rate at the end of a phase, in requests a second.
func end(ph *scenarios.Phase) float64 {
	if ph.To != nil {
		return float64(*ph.To)
	}
	return float64(ph.Rate)
}

// highestFrom returns the highest rate in a part of a period, in requests a second.
func highestFrom(r *scenarios.Rate, period, from, width scenarios.Span) float64 {
	if r.Pattern == "wave" {
		// away is how far the part is from the peak: 0 if the peak is in it.
		since := math.Mod(float64(from-r.Peak%period)+float64(period), float64(period))
		away := min(since, max(0, float64(period-width)-since))
		return float64(r.Average) *
			(1 + float64(r.Swing*math.Cos(2*math.Pi*away/float64(period))))
	}
	top := 0.0
	for begin := scenarios.Span(0); begin < from+width; {
		for i := range r.Phases {
			ph := &r.Phases[i]
			at := func(t scenarios.Span) float64 {
				share := float64(t-begin) / float64(ph.For)
				return float64(ph.Rate) + float64(share*(end(ph)-float64(ph.Rate)))
			}
			first, last := max(begin, from), min(begin+ph.For, from+width)
			if first < last {
				top = max(top, at(first), at(last))
			}
			begin += ph.For
		}
	}
	return top
}

// ByHour is the price of each hour of a day, from midnight on, as a multiple of the offer's; 0
// stands for 1. It is written as 22..6 at 0.6 and 17..21 at 1.4.
type ByHour [24]float64

// mostByHour bounds the price of an hour, as a multiple of the offer's.
const mostByHour = 10

// UnmarshalText reads the hours with another price.
func (b *ByHour) UnmarshalText(text []byte) error {
	*b = ByHour{}
	for part := range strings.SplitSeq(string(text), " and ") {
		var from, to int
		var times float64
		var rest string
		n, _ := fmt.Sscanf(part, "%d..%d at %g%s", &from, &to, &times, &rest)
		if n != 3 || from < 0 || from > 23 || to < 0 || to > 24 || to == from ||
			!(times > 0 && times <= mostByHour) {
			return fmt.Errorf("found %q; want hours from 0 to 24 and a multiple of the price "+
				"above 0 to %d, such as 22..6 at 0.6", part, mostByHour)
		}
		for k := range (to-from+23)%24 + 1 {
			h := (from + k) % 24
			if b[h] != 0 {
				return fmt.Errorf("found two prices for %d..%d in %q; leave one out", h, h+1, text)
			}
			b[h] = times
		}
	}
	return nil
}

// MarshalText writes the hours with another price.
func (b ByHour) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String writes the hours with another price, those around midnight as one.
func (b ByHour) String() string {
	first := max(0, slices.IndexFunc(b[:], func(times float64) bool { return times != b[23] }))
	var parts []string
	for from, to := first, 0; from < first+24; from = to {
		for to = from + 1; to < first+24 && b[to%24] == b[from%24]; {
			to++
		}
		if b[from%24] != 0 {
			parts = append(parts, fmt.Sprintf("%d..%d at %g", from%24, (to-1)%24+1, b[from%24]))
		}
	}
	return strings.Join(parts, " and ")
}

// At is the price in an hour of a day, counted from 0 of any day, as a multiple of the offer's.
func (b *ByHour) At(hour int) float64 { return cmp.Or(b[hour%24], 1) }
