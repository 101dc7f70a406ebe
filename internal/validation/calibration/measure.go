package calibration

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
)

// Point is a measured step.
type Point struct {
	Shape
	// Seconds is the median time of the step, Spread half of the range of the middle half of its
	// times, as a share of the median.
	Seconds, Spread float64
	// Samples is how often it was measured.
	Samples int
}

// Round is one pass over all steps.
type Round struct {
	// Rates are the machine's meanwhile, Seconds the time of each step.
	Rates   Rates
	Seconds []float64
}

// Measurement is what was measured of a machine with one model.
type Measurement struct {
	// Points sum up the rounds, a point a step.
	Points []Point
	Rounds []Round
	// Noise has the rates of the machine meanwhile.
	Noise Noise
}

// Spread returns the median of the spreads of all points.
func (m *Measurement) Spread() float64 {
	spreads := make([]float64, len(m.Points))
	for i := range m.Points {
		spreads[i] = m.Points[i].Spread
	}
	return Median(spreads)
}

// The noise up to which constants are claimed: spread of a step, and change of the machine's rates.
// Rates may change more than in a cross-check, since every round is fitted with its own.
const (
	mostSpread = 0.05
	mostDrift  = 0.20
)

// Quiet returns an error that says how noisy the machine was, if it was too noisy for a fit to mean
// anything.
func (m *Measurement) Quiet(threads int) error {
	switch {
	case m.Spread() > mostSpread:
		return fmt.Errorf("the machine is too noisy: the same step varied by ±%.1f %%, and ±%.0f "+
			"%% is the limit; close other programs, or raise --rounds", 100*m.Spread(),
			100*mostSpread)
	case m.Noise.Drift() > mostDrift:
		return fmt.Errorf("the machine is too noisy: its speed changed by %.1f %% meanwhile, and "+
			"%.0f %% is the limit", 100*m.Noise.Drift(), 100*mostDrift)
	case threads > 1 && m.Noise.Others > MostOthers:
		return fmt.Errorf("other programs took %.0f %% of the processors: with more than one "+
			"thread, times count on an idle machine only (at most %.0f %%)",
			100*m.Noise.Others, 100*MostOthers)
	}
	return nil
}

// stepsBetween is how many steps are timed between two probes of the machine.
const stepsBetween = 10

// Measure times every step of the grid once a round, in an order drawn for each round, so that a
// machine that slows down meanwhile slows all of them. Progress is reported after each round.
func Measure(ctx context.Context, m *Machine, model *gpt2.Model, rounds int,
	progress func(round int)) (*Measurement, error) {
	shapes := Grid(model.Config.Context)
	bench, err := newBench(m, model, shapes)
	if err != nil {
		return nil, err
	}
	defer bench.close()
	// the first of all steps is slower: buffers grow
	for _, s := range []Shape{shapes[0], shapes[len(shapes)-1]} {
		if _, err := bench.time(s); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(1, 0))
	watch := m.Watch()
	result := &Measurement{}
	for number := range rounds {
		round := Round{Seconds: make([]float64, len(shapes))}
		watch.Begin()
		for done, i := range random.Perm(len(shapes)) {
			if done%stepsBetween == 0 {
				watch.Sample()
			}
			if round.Seconds[i], err = bench.time(shapes[i]); err != nil {
				return nil, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		round.Rates = watch.Rates()
		result.Rounds = append(result.Rounds, round)
		progress(number + 1)
	}
	result.Noise = watch.Stop()
	for i, s := range shapes {
		times := make([]float64, rounds)
		for j := range result.Rounds {
			times[j] = result.Rounds[j].Seconds[i]
		}
		median := Median(times)
		result.Points = append(result.Points,
			Point{Shape: s, Seconds: median, Spread: spread(times, median), Samples: rounds})
	}
	return result, nil
}

// spread returns the median distance of x from its median, as a share of it.
func spread(x []float64, median float64) float64 {
	distances := make([]float64, len(x))
	for i, v := range x {
		distances[i] = math.Abs(v-median) / median
	}
	return Median(distances)
}
