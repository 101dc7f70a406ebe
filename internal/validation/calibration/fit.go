// Package calibration measures how long steps of GPT-2 take on this computer, and fits the
// constants of its processor and of the engine to them.
package calibration

import (
	"errors"
	"math"
	"time"

	"gonum.org/v1/gonum/optimize"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// EngineName is the preset that runs on a calibrated host.
const EngineName = "llmsim-gpt2"

// Fit is a calibrated host.
type Fit struct {
	// Accelerator is the hardware entry, with its constants.
	Accelerator hardware.Accelerator
	// Points are the steps that were measured.
	Points []Point
	// Predicted are the seconds of each point, LeftOut those predicted by constants fitted without
	// it and others.
	Predicted, LeftOut []float64
	// Error and LeftOutError are medians of the absolute relative errors of these.
	Error, LeftOutError float64
}

// folds is into how many parts the points are split; each is predicted from the others.
const folds = 5

// Calibrate fits the constants of the host to what was measured. The entry gets that name; memory
// is in bytes.
func Calibrate(name string, m *Measurement, model *models.Architecture, threads int, memory float64,
	date time.Time) (*Fit, error) {
	a := entry(name, m, threads, memory)
	all := make([]bool, len(m.Points))
	for i := range all {
		all[i] = true
	}
	constants, err := fit(&a, model, m, all)
	if err != nil {
		return nil, err
	}
	f := &Fit{Accelerator: a, Points: m.Points, LeftOut: make([]float64, len(m.Points))}
	if f.Predicted, err = predict(&a, constants, model, m.Points); err != nil {
		return nil, err
	}
	for fold := range folds {
		kept := make([]bool, len(m.Points))
		for i := range kept {
			kept[i] = i%folds != fold
		}
		others, err := fit(&a, model, m, kept)
		if err != nil {
			return nil, err
		}
		predicted, err := predict(&a, others, model, m.Points)
		if err != nil {
			return nil, err
		}
		for i := range kept {
			if !kept[i] {
				f.LeftOut[i] = predicted[i]
			}
		}
	}
	f.Error, f.LeftOutError = medianError(m.Points, f.Predicted), medianError(m.Points, f.LeftOut)
	constants.Fit = hardware.Fit{
		Source: "llmsim calibrate, " + model.Name +
			" in the engine", Date: date.Format(time.DateOnly), Rows: len(m.Points), Error: f.Error,
	}
	f.Accelerator.Constants = constants
	return f, nil
}

// entry returns the host as a data sheet would have it: what the probes reached.
func entry(name string, m *Measurement, threads int, memory float64) hardware.Accelerator {
	return hardware.Accelerator{
		Name: name, Kind: "cpu", Generation: "host", Memory: memory,
		Bandwidth: m.Noise.Rates.Bandwidth,
		Peak:      map[hardware.DType]float64{hardware.FP32: m.Noise.Rates.FLOPRate}, SMs: threads,
		PerNode: 1,
	}
}

// predict returns the seconds of each point.
func predict(a *hardware.Accelerator, c *hardware.Constants, model *models.Architecture,
	points []Point) ([]float64, error) {
	engine, err := steptime.FindEngine(EngineName)
	if err != nil {
		return nil, err
	}
	replica := deployment.Config{Model: model, Accelerator: a, Engine: engine,
		Physics: deployment.Physics{Constants: c}}
	clock, err := replica.NewClock()
	if err != nil {
		return nil, err
	}
	seconds := make([]float64, len(points))
	for i := range points {
		seconds[i] = clock.Duration(points[i].Step()).Seconds()
	}
	return seconds, nil
}

func medianError(points []Point, predicted []float64) float64 {
	errors := make([]float64, len(points))
	for i := range points {
		errors[i] = math.Abs(predicted[i]/points[i].Seconds - 1)
	}
	return Median(errors)
}

// fit returns the constants with which the points that are kept are predicted best, in each round
// for a machine of the rates of that round. The search is Nelder and Mead's (The Computer Journal
// 7(4), 1965), begun again from where it ended until that changes nothing.
func fit(a *hardware.Accelerator, model *models.Architecture, m *Measurement,
	kept []bool) (*hardware.Constants, error) {
	problem := optimize.Problem{Func: func(x []float64) float64 {
		sum := 0.0
		for i := range m.Rounds {
			then := *a
			then.Bandwidth, then.Peak = m.Rounds[i].Rates.Bandwidth, map[hardware.DType]float64{
				hardware.FP32: m.Rounds[i].Rates.FLOPRate}
			predicted, err := predict(&then, constantsAt(x), model, m.Points)
			if err != nil {
				return math.Inf(1)
			}
			sum += loss(m.Rounds[i].Seconds, predicted, kept)
		}
		return sum
	}}
	x, best := start(), math.Inf(1)
	for range 8 {
		result, err := optimize.Minimize(problem, x, &optimize.Settings{FuncEvaluations: 3000},
			&optimize.NelderMead{})
		if result == nil {
			return nil, errors.Join(errors.New("the constants could not be fitted"), err)
		}
		x = result.X
		if result.F > best*0.999 {
			break
		}
		best = result.F
	}
	return constantsAt(x), nil
}

// loss is the mean of a smooth absolute error of the logarithms, which outliers hardly move.
func loss(measured, predicted []float64, kept []bool) float64 {
	const corner = 0.01
	sum, n := 0.0, 0.0
	for i := range measured {
		if kept[i] {
			sum += math.Hypot(math.Log(predicted[i]/measured[i]), corner)
			n++
		}
	}
	return sum / n
}
