package asked

import (
	"cmp"
	"math"

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
