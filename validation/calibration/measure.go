package calibration

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/engine/gpt2"
	"github.com/llmsim/llmsim/validation/machine"
)

// Point is a measured step.
type Point struct {
	Shape
	// Seconds is the median time of the step, Spread half of the range of the middle half of its times, as a share of the median.
	Seconds, Spread float64
	// Samples is how often it was measured.
	Samples int
}

// Measurement is what was measured of a machine with one model.
type Measurement struct {
	Points []Point
	// Noise has the rates of the machine meanwhile.
	Noise machine.Noise
}

// Spread returns the median of the spreads of all points.
func (m *Measurement) Spread() float64 {
	spreads := make([]float64, len(m.Points))
	for i := range m.Points {
		spreads[i] = m.Points[i].Spread
	}
	return machine.Median(spreads)
}

// mostSpread is the largest spread at which constants are claimed.
const mostSpread = 0.05

// Quiet returns an error that says how noisy the machine was, if it was too noisy for a fit to mean anything.
func (m *Measurement) Quiet(threads int) error {
	switch {
	case m.Spread() > mostSpread:
		return fmt.Errorf("the machine is too noisy: the same step varied by ±%.1f %%, and ±%.0f %% is the limit; close other programs, or raise --rounds", 100*m.Spread(), 100*mostSpread)
	case m.Noise.Drift() > machine.MostDrift:
		return fmt.Errorf("the machine is too noisy: its speed changed by %.1f %% meanwhile, and %.0f %% is the limit", 100*m.Noise.Drift(), 100*machine.MostDrift)
	case threads > 1 && m.Noise.Share < machine.LeastShare:
		return fmt.Errorf("other programs took %.0f %% of the processors: with more than one thread, times count on an idle machine only (at most %.0f %%)",
			100*(1-m.Noise.Share), 100*(1-machine.LeastShare))
	}
	return nil
}

// samples is how often the rates of the machine are measured in a round.
const samples = 3

// Measure times every step of the grid once a round, in an order drawn for each round, so that a machine that slows down
// meanwhile slows all of them. Progress is told after each round.
func Measure(ctx context.Context, m *machine.Machine, model *gpt2.Model, rounds int, progress func(round int)) (*Measurement, error) {
	shapes := Grid(model.Config.Context)
	bench, err := newBench(m, model, shapes)
	if err != nil {
		return nil, err
	}
	defer bench.close()
	for _, s := range []Shape{shapes[0], shapes[len(shapes)-1]} { // the first of all steps is slower: buffers grow
		if _, err := bench.time(s); err != nil {
			return nil, err
		}
	}
	times := make([][]float64, len(shapes))
	random := rand.New(rand.NewPCG(1, 0))
	watch := m.Watch()
	for round := range rounds {
		for range samples {
			watch.Sample()
		}
		for _, i := range random.Perm(len(shapes)) {
			seconds, err := bench.time(shapes[i])
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], seconds)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		progress(round + 1)
	}
	result := &Measurement{Noise: watch.Stop()}
	for i, s := range shapes {
		median := machine.Median(times[i])
		result.Points = append(result.Points, Point{Shape: s, Seconds: median, Spread: spread(times[i], median), Samples: rounds})
	}
	return result, nil
}

// spread returns the median distance of x from its median, as a share of it.
func spread(x []float64, median float64) float64 {
	distances := make([]float64, len(x))
	for i, v := range x {
		distances[i] = math.Abs(v-median) / median
	}
	return machine.Median(distances)
}
