package asked

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// onePeriod lets a load of fleets that scale end that repeats, and does not end by itself.
func (p *Plan) onePeriod(w *scenarios.Workload) {
	if period := longestPeriod(w); p.Scaled() && period > 0 && w.Requests == 0 && w.Duration == 0 {
		w.Duration = period
	}
}

// Day is the period of a wave that names no period.
const Day = scenarios.Span(24 * 3600 * sim.Second)

// hour is the least period of phases of which the highest counts, as that of a wave does: fleets
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

// longestPeriod returns the longest period of the rates of a workload; 0 without one.
func longestPeriod(w *scenarios.Workload) scenarios.Span {
	longest := scenarios.Span(0)
	for _, r := range rates(w) {
		longest = max(longest, periodOf(r))
	}
	return longest
}

// end returns the rate at the end of a phase, in requests a second.
func end(ph *scenarios.Phase) float64 {
	if ph.To != nil {
		return float64(*ph.To)
	}
	return float64(ph.Rate)
}

// mostParts bounds the parts of a period: the minutes of a week.
const mostParts = 7 * 24 * 60

// Hours returns the highest load in each hour of a period, as a share of the highest of all, or in
// each part as long as the start of a replica, if the horizon gives that. Where classes have rates
// of their own, it is the largest share of any class. It returns nil unless the whole load follows
// waves or phases that repeat after half a day or more, or after a part of the longest such period.
func (p *Plan) Hours() []float64 {
	period := longestPeriod(&p.Workload)
	if !p.Steady() || period < Day/2 {
		return nil
	}
	part := hour
	if p.Horizon != nil {
		part = cmp.Or(p.Horizon.Start, part)
	}
	parts := int(min(mostParts, max(1, math.Round(float64(period)/float64(part)))))
	width := period / scenarios.Span(parts)
	hours := make([]float64, parts)
	for _, r := range rates(&p.Workload) {
		if highest(r) == 0 {
			continue
		}
		own := periodOf(r)
		if own == 0 || period%own != 0 {
			return nil
		}
		for i := range hours {
			from := scenarios.Span(i) * width % own
			hours[i] = max(hours[i], highestFrom(r, own, from, width)/highest(r))
		}
	}
	return hours
}

// allHours says that replicas are paid for at all hours although the load changes; empty where it
// does not, or that is counted, or there is no horizon.
func (h *Horizon) allHours(p *Plan) string {
	changing := func(r *scenarios.Rate) bool {
		return !slices.Contains([]string{"", "steady"}, r.Pattern)
	}
	changes := p.RecordedTimes() || slices.ContainsFunc(rates(&p.Workload), changing)
	if h == nil || !changes || p.Hours() != nil {
		return ""
	}
	return "All hours of a month are paid as the busiest: of the loads that change within it, " +
		"only those are paid by the hour that are waves, or phases that repeat, as a whole, " +
		"after half a day or more."
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
