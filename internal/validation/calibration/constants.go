package calibration

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
)

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
