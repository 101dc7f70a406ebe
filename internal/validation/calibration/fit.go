// Package calibration measures how long steps of GPT-2 take on this computer, and fits the
// constants of its processor and of the engine to them.
package calibration

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/gonum/optimize"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
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
	constants, err := fit(&a, model, m, -1)
	if err != nil {
		return nil, err
	}
	f := &Fit{Accelerator: a, Points: m.Points, LeftOut: make([]float64, len(m.Points))}
	if f.Predicted, err = predict(&a, constants, model, m.Points); err != nil {
		return nil, err
	}
	for fold := range folds {
		others, err := fit(&a, model, m, fold)
		if err != nil {
			return nil, err
		}
		predicted, err := predict(&a, others, model, m.Points)
		if err != nil {
			return nil, err
		}
		for i := fold; i < len(predicted); i += folds {
			f.LeftOut[i] = predicted[i]
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

// fit returns the constants with which the points outside of a fold are predicted best, all for -1,
// in each round for a machine of the rates of that round. The search is Nelder and Mead's (The
// Computer Journal 7(4), 1965), begun again from where it ended until that changes nothing.
func fit(a *hardware.Accelerator, model *models.Architecture, m *Measurement,
	fold int) (*hardware.Constants, error) {
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
			sum += loss(m.Rounds[i].Seconds, predicted, fold)
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
func loss(measured, predicted []float64, fold int) float64 {
	const corner = 0.01
	sum, n := 0.0, 0.0
	for i := range measured {
		if i%folds != fold {
			sum += math.Hypot(math.Log(predicted[i]/measured[i]), corner)
			n++
		}
	}
	return sum / n
}

// The constants of a processor that are fitted. Others keep a value that makes no difference there:
// a processor has no tiles of rows beyond the ones that the engine hides, and decode attention is
// bound by memory.
const (
	linearCompute = iota
	linearMemory
	linearOverlap
	kernelTime
	elementwiseMemory
	decodeMemory
	prefillCompute
	prefillMemory
	headPasses
	dimensions
)

// start is where the search begins, on the scales of constantsAt.
func start() []float64 {
	x := make([]float64, dimensions)
	x[linearCompute], x[linearMemory], x[linearOverlap], x[kernelTime] = 1.7, 1.7, 1, math.Log(5e-6)
	x[decodeMemory], x[headPasses] = 0, 0
	return x
}

// constantsAt turns a point of the search into constants: fractions are logistic, times and counts
// exponential, so that each stays in its range.
func constantsAt(x []float64) *hardware.Constants {
	c := hardware.Roofline()
	kernel := hardware.Seconds(math.Exp(x[kernelTime]))
	c.Linear = hardware.Linear{
		Compute: map[hardware.DType]float64{hardware.FP32: fraction(x[linearCompute])},
		Memory:  fraction(x[linearMemory]), Kernel: kernel, Overlap: 1 + math.Exp(x[linearOverlap]),
		Tile: 1,
	}
	c.Elementwise = hardware.Elementwise{Kernel: kernel, Memory: fraction(x[elementwiseMemory])}
	c.Attention.DecodeKernel, c.Attention.PrefillKernel = kernel, kernel
	c.Attention.DecodeMemory = fraction(x[decodeMemory])
	c.Attention.PrefillCompute, c.Attention.PrefillMemory = fraction(x[prefillCompute]),
		fraction(x[prefillMemory])
	c.Head = hardware.Head{Kernel: kernel, Passes: math.Exp(x[headPasses])}
	return &c
}

func fraction(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Write writes hosts as a hardware file, which scenarios name with hardware.file.
func Write(w io.Writer, fits []*Fit, processor string) error {
	_, err := io.WriteString(w,
		"# Measured by llmsim calibrate. The measured steps are in the CSV file of the same "+
			"name.\naccelerators:\n")
	for _, f := range fits {
		err = errors.Join(err, f.write(w, processor))
	}
	return err
}

func (f *Fit) write(w io.Writer, processor string) error {
	a, c := &f.Accelerator, f.Accelerator.Constants
	us := func(s hardware.Seconds) string {
		return strconv.FormatFloat(1e6*float64(s), 'f', 4, 64) +
			"us"
	}
	_, err := fmt.Fprintf(w, `  # Steps of the grid are predicted within %.1f %% (median; %.1f %% where the constants were fitted without them).
  %s:
    title: %q
    kind: %s
    generation: %s
    source: %q
    memory: %.0fB
    bandwidth: %.0fB/s
    peak: {fp32: %.0fFLOPS}
    sms: %d
    scale_up: loopback
    host_link: loopback
    network: loopback
    constants:
      fit: {source: %q, date: %s, rows: %d, error: %.4f}
      linear: {compute: {fp32: %.4f}, memory: %.4f, kernel: %s, overlap: %.3f, tile: %d}
      elementwise: {kernel: %s, memory: %.4f}
      attention: {decode_kernel: %s, decode_memory: %.4f, prefill_kernel: %s, prefill_compute: %.4f, prefill_memory: %.4f}
      head: {kernel: %s, passes: %.3f}
`, 100*f.Error, 100*f.LeftOutError,
		a.Name, fmt.Sprintf("%s, threads: %d", processor, a.SMs), a.Kind, a.Generation,
		"llmsim calibrate, "+c.Fit.Date,
		a.Memory, a.Bandwidth, a.Peak[hardware.FP32], a.SMs,
		c.Fit.Source, c.Fit.Date, c.Fit.Rows, c.Fit.Error,
		c.Linear.Compute[hardware.FP32], c.Linear.Memory, us(c.Linear.Kernel), c.Linear.Overlap,
		c.Linear.Tile,
		us(c.Elementwise.Kernel), c.Elementwise.Memory,
		us(c.Attention.DecodeKernel), c.Attention.DecodeMemory, us(c.Attention.PrefillKernel),
		c.Attention.PrefillCompute, c.Attention.PrefillMemory,
		us(c.Head.Kernel), c.Head.Passes)
	return err
}

// WritePoints writes what was measured and predicted, a row a step.
func WritePoints(w io.Writer, fits []*Fit) error {
	type row struct {
		Threads   int     `csv:"threads"`
		Decodes   int     `csv:"decodes"`
		Context   int     `csv:"context"`
		New       int     `csv:"new"`
		Cached    int     `csv:"cached"`
		Measured  float64 `csv:"measured_ms" format:"%.4f"`
		Spread    float64 `csv:"spread" format:"%.4f"`
		Samples   int     `csv:"samples"`
		Predicted float64 `csv:"predicted_ms" format:"%.4f"`
		LeftOut   float64 `csv:"left_out_ms" format:"%.4f"`
	}
	var rows []row
	for _, f := range fits {
		for i, p := range f.Points {
			rows = append(rows, row{f.Accelerator.SMs, p.Decodes, p.Context, p.New, p.Cached,
				1000 * p.Seconds, p.Spread, p.Samples, 1000 * f.Predicted[i], 1000 * f.LeftOut[i]})
		}
	}
	return files.WriteTable(w, rows)
}
