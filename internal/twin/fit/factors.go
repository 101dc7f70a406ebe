// Package fit finds the factors of a deployment: few physical multipliers with which the simulator
// repeats what was observed.
//
// The unknowns are the logarithms of the factors. Each has a prior, and each group of requests,
// intervals or steps gives the logarithm of a measured over a predicted mean. The most probable
// factors are found by Gauss–Newton steps on the whole simulator (Nocedal and Wright, "Numerical
// Optimization", 2006, section 10.3), under a robust loss.
package fit

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Factor is one of scenarios.Factors: a multiplier, or the round trip.
type Factor struct {
	// Name is its key in a scenario, and Of says what it multiplies.
	Name, Of string
	// Prior is the standard deviation of its logarithm before measurements, around 0.
	Prior float64
	// Asked says that the factor is fitted only where the data ask for it.
	Asked bool
	of    func(*scenarios.Factors) *float64 // nil for the round trip
}

// trip reports whether the factor is the round trip, which is a time.
func (f *Factor) trip() bool { return f.of == nil }

// tripUnit is what the logarithm of a round trip counts from, in seconds: at x, the trip is
// tripUnit·(eˣ−1), which is 0 at 0 and at least 0.
const tripUnit = 0.01

// value returns the factor, or the round trip in seconds, at a logarithm.
func (f *Factor) value(x float64) float64 {
	if f.trip() {
		return tripUnit * math.Expm1(x)
	}
	return math.Exp(x)
}

// spread returns the deviation of the value at a logarithm with a deviation: of a factor relative
// to it, and of the round trip in seconds.
func (f *Factor) spread(x, deviation float64) float64 {
	if f.trip() {
		return tripUnit * math.Exp(x) * deviation
	}
	return deviation
}

// set sets the value of the factor, or its deviation.
func (f *Factor) set(s *scenarios.Factors, value float64) {
	if f.trip() {
		s.RoundTrip = scenarios.Span(sim.Seconds(value))
	} else {
		*f.of(s) = value
	}
}

// bounds returns the least and the largest logarithm.
func (f *Factor) bounds() (least, most float64) {
	most = mostLog * f.Prior
	if f.trip() {
		return 0, most
	}
	return -most, most
}

// Factors lists them. The priors follow from errors of the shipped predictions for servers that
// were left out of their fit (internal/validation/known-gaps.md: TPOT within 0.18 and TTFT within
// 0.50 for 80 of 100). What is a part of a step's or a request's time may be off by more than the
// whole. The prior of mixed is as wide as it is on the one server that was measured saturated and
// not (10 %; vLLM 0.23 on an H100, tables requests_vllm_0.23), and does not say that it is above 1:
// the measurements of that server would count twice in a fit to it. The priors of load and of the
// round trip are choices: a tenth for each tenfold of sequences, and some 35 ms, at most 0.9 s.
func Factors() []Factor {
	type f = scenarios.Factors
	return []Factor{
		{"prompts", "what grows with the tokens of a step", 0.25, false,
			func(s *f) *float64 { return &s.Prompts }},
		{"memory", "reading weights", 0.1, false, func(s *f) *float64 { return &s.Memory }},
		{"cache", "reading the KV cache to decode", 0.3, false,
			func(s *f) *float64 { return &s.Cache }},
		{"exchanges", "exchanges between accelerators", 0.4, false,
			func(s *f) *float64 { return &s.Exchanges }},
		{"step", "the host's time for a step", 0.7, false, func(s *f) *float64 { return &s.Step }},
		{"sequence", "the host's time for a sequence of a step", 0.7, false,
			func(s *f) *float64 { return &s.Sequence }},
		{"request", "the host's time for a request", 0.7, false,
			func(s *f) *float64 { return &s.Request }},
		{"mixed", "prompts beside very many decoding sequences", 0.1, false,
			func(s *f) *float64 { return &s.Mixed }},
		{"round-trip", "the way to the client and back (s)", 1.5, true, nil},
		{"load", "the accelerators' time, for each tenfold of sequences", 0.1, true,
			func(s *f) *float64 { return &s.Load }},
	}
}

// mostLog bounds the logarithm of a factor, in deviations of its prior.
const mostLog = 3

// point is a value of the logarithm of each factor.
type point []float64

// factors returns the factors at a point.
func (x point) factors() scenarios.Factors {
	var s scenarios.Factors
	for i, f := range Factors() {
		f.set(&s, f.value(x[i]))
	}
	return s
}

// within returns x with each value in its bounds.
func (x point) within() point {
	for i, f := range Factors() {
		least, most := f.bounds()
		x[i] = max(least, min(most, x[i]))
	}
	return x
}

// settings returns the overrides of a scenario that set the factors.
func settings(s scenarios.Factors) []string {
	var list []string
	for _, f := range Factors() {
		if f.trip() {
			list = append(list, fmt.Sprintf("engine.factors.%s=%s", f.Name, s.RoundTrip))
		} else if v := *f.of(&s); v != 0 {
			list = append(list, fmt.Sprintf("engine.factors.%s=%.9g", f.Name, v))
		}
	}
	return list
}
