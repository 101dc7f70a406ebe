package menu

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// overload is the least excess of arrivals over what is served that a simulation is sure to show.
const overload = 0.05

// Lengths returns the requests of the first and of the longest simulation at a rate. The queue of a
// replica that is overloaded by a share of 5 % reaches the limit of the first token after 20 times
// that limit: no simulation is shorter.
func (p *Plan) Lengths(rate float64) (first, most int64) {
	s := &p.SLO
	limit := cmp.Or(s.TTFT.Strictest(), s.E2E.Strictest(), s.TPOT.Strictest(), s.ITL.Strictest())
	enough := int64(math.Ceil(rate * sim.Time(limit).Seconds() / overload))
	first = max(p.Effort.Requests, enough)
	return first, max(p.Effort.MostRequests, 4*enough)
}

// ReplayedWhole marks tasks whose requests all count, from the first to the last.
const ReplayedWhole = "-whole"

// Params are the settings of the plan that Simulate needs.
func (p *Plan) Params() string {
	level := strconv.FormatFloat(p.Effort.Confidence, 'f', -1, 64)
	if p.Replayed() {
		level += ReplayedWhole
	}
	return level
}

// Round keeps six digits of a rate, so that equal rates are written the same.
func Round(rate float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 6, 64), 64)
	return short
}

// mostTogether bounds the requests of the simulation of a whole fleet, unless its rate, or
// turnsEach for each user of a closed loop, ask for more.
const (
	mostTogether = 20_000
	turnsEach    = 20
)

// Together returns the requests of the simulation of a whole fleet.
func (p *Plan) Together(rate float64, replicas int) int64 {
	first, _ := p.Lengths(rate)
	return max(first, min(p.Effort.Requests*int64(replicas), mostTogether),
		turnsEach*int64(p.Workload.Arrivals.Users))
}

// Seeds returns how many runs are of use where that many are asked for: recorded requests are
// always the same, unless they are resampled.
func (p *Plan) Seeds(n int) int {
	if p.RecordedTimes() && !p.Workload.Resampled() {
		return 1
	}
	return n
}

// ScaleLimits multiplies all limits of latencies, those of classes too.
func (p *Plan) ScaleLimits(by float64) {
	scale := func(s *scenarios.SLO) {
		for _, limits := range []*scenarios.Limits{&s.TTFT, &s.TPOT, &s.ITL, &s.E2E} {
			*limits = limits.Scaled(by)
		}
	}
	scale(&p.SLO)
	for i := range p.Workload.Classes {
		scale(&p.Workload.Classes[i].SLO)
	}
}

// ScaleLengths multiplies the lengths of prompts and answers, those of classes too.
func (p *Plan) ScaleLengths(prompt, output float64) {
	w := &p.Workload
	w.Prompt, w.Output = w.Prompt.Scaled(prompt), w.Output.Scaled(output)
	for i := range w.Classes {
		c := &w.Classes[i]
		c.Prompt, c.Output = c.Prompt.Scaled(prompt), c.Output.Scaled(output)
	}
}

// Sessions reports whether requests of one user follow each other.
func (p *Plan) Sessions() bool {
	w := &p.Workload
	return w.Sessions != nil || len(w.Calls) > 0 || w.Preset != "" || w.Samples > 1 ||
		slices.ContainsFunc(w.Classes, func(c scenarios.Class) bool {
			return c.Sessions != nil || len(c.Calls) > 0 || c.Preset != "" || c.Samples > 1
		})
}
