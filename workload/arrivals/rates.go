package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Rate is the expected number of arrivals a second as a function of time.
type Rate interface {
	// Pacer checks the parameters and starts at time 0. Random lengths of the rate are drawn from
	// src.
	Pacer(src rand.Source) (Pacer, error)
	// Mean returns the average rate in arrivals/s over the long run (for a rate that ends, until it
	// ends); +Inf for AtOnce.
	Mean() float64
	// Ends reports whether arrivals stop by themselves.
	Ends() bool
	// String describes the rate: "4/s".
	String() string
}

// Pacer turns expected arrivals into time.
type Pacer interface {
	// Advance moves on until the integral of the rate has grown by expected, at least 0, and
	// returns that time. If the rate is zero for a while then, it returns the last such moment. It
	// returns sim.Never, in this call and all later ones, if the integral never grows that much
	// within the range of sim.Time.
	Advance(expected float64) sim.Time
}

// Steady is a rate that does not change, in arrivals/s, above 0.
type Steady float64

// Pacer implements Rate.
func (s Steady) Pacer(rand.Source) (Pacer, error) {
	if !(s > 0) || !finite(float64(s)) {
		return nil, fmt.Errorf("rate: found %v/s, allowed: finite numbers above 0", float64(s))
	}
	return &steady{gap: float64(sim.Second) / float64(s)}, nil
}

// Mean implements Rate.
func (s Steady) Mean() float64 { return float64(s) }

// Ends implements Rate.
func (Steady) Ends() bool { return false }

func (s Steady) String() string { return units.FormatRequestRate(float64(s)) }

// steady counts whole ticks and carries the fraction, so that rounding does not make the rate
// drift.
type steady struct {
	// gap is the mean gap and carry the fraction not yet counted, in ticks.
	gap, carry float64
	now        sim.Time
}

func (s *steady) Advance(expected float64) sim.Time {
	// The inner conversion keeps the compiler from fusing multiplication and addition, which rounds
	// differently on some machines.
	span := float64(expected*s.gap) + s.carry
	if s.now == sim.Never || span >= float64(sim.Never-s.now) {
		s.now = sim.Never
		return s.now
	}
	whole := sim.Time(span)
	s.carry = span - float64(whole)
	s.now += whole
	return s.now
}

// AtOnce is the rate of an offline job: every request arrives at time 0.
type AtOnce struct{}

// Pacer implements Rate.
func (AtOnce) Pacer(rand.Source) (Pacer, error) { return atOnce{}, nil }

// Mean implements Rate.
func (AtOnce) Mean() float64 { return math.Inf(1) }

// Ends implements Rate.
func (AtOnce) Ends() bool { return false }

func (AtOnce) String() string { return "all at once" }

type atOnce struct{}

func (atOnce) Advance(float64) sim.Time { return 0 }
