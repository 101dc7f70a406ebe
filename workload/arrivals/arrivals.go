// Package arrivals holds arrival processes, and delays such as thinking times. The processes are
// renewal processes (constant gaps, Poisson, gamma, Weibull, lognormal). Their rate may be steady
// or change over time (phases and ramps, bursts, a daily wave).
//
// A changing rate stretches the gaps of the renewal process exactly. Gaps have mean 1 in "expected
// arrivals". Arrival number n comes when the integral of the rate has grown to the sum of the first
// n gaps (time rescaling; Gerhardt and Nelson, "Transforming Renewal Processes for Simulation of
// Nonstationary Arrival Processes", INFORMS Journal on Computing 21(4), 2009). With exponential
// gaps this is the non-homogeneous Poisson process.
package arrivals

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// Process is a stream of arrivals: gaps of a shape, stretched by a rate.
type Process struct {
	// Rate is the expected number of arrivals a second over time.
	Rate Rate
	// Gaps is the shape of the gaps between arrivals; nil means Exponential, a Poisson process.
	// With Constant gaps the first arrival comes at once, so that a steady rate of r for d seconds
	// gives r·d arrivals; otherwise it comes after a gap.
	Gaps Shape
}

// Times starts the process at time 0. Gaps are drawn from gaps, and the lengths of random bursts
// from bursts, so that a change of one does not change the other.
func (p Process) Times(gaps, bursts rand.Source) (*Times, error) {
	if p.Rate == nil {
		return nil, errors.New("arrivals: found no rate")
	}
	pacer, err := p.Rate.Pacer(bursts)
	if err != nil {
		return nil, err
	}
	gap, err := p.gaps().Sampler(gaps)
	if err != nil {
		return nil, err
	}
	if _, ok := p.Gaps.(Constant); ok {
		gap = fromZero(gap)
	}
	return &Times{pacer: pacer, gap: gap}, nil
}

func (p Process) gaps() Shape {
	if p.Gaps == nil {
		return Exponential{}
	}
	return p.Gaps
}

// String describes the process: "Poisson, 4/s".
func (p Process) String() string {
	if _, ok := p.Rate.(AtOnce); ok || p.Rate == nil {
		return "all at once"
	}
	if _, ok := p.gaps().(Exponential); ok {
		return "Poisson, " + p.Rate.String()
	}
	return p.gaps().String() + " gaps, " + p.Rate.String()
}

// Times are the arrival times of a process, one after another.
type Times struct {
	pacer Pacer
	gap   func() float64
}

// Next returns the next arrival, not earlier than the one before, or sim.Never when there are no
// more.
func (t *Times) Next() sim.Time { return t.pacer.Advance(t.gap()) }

// fromZero puts a gap of zero before the others.
func fromZero(gap func() float64) func() float64 {
	first := true
	return func() float64 {
		if first {
			first = false
			return 0
		}
		return gap()
	}
}

// later returns t + span, or sim.Never where that is out of range. Both must be at least 0.
func later(t, span sim.Time) sim.Time {
	if span >= sim.Never-t {
		return sim.Never
	}
	return t + span
}

// finite reports whether a number is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
