package steptime

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// rate returns the peak FLOP/s of a at number format d and the format whose peak it is: d itself,
// or the nearest that a computes in. FP16 and BF16 stand in for each other, and formats without
// arithmetic of their own are widened to 16 bits first (weight-only quantisation).
func rate(a *hardware.Accelerator, d hardware.DType) (float64, hardware.DType, error) {
	for _, candidate := range []hardware.DType{d, hardware.BF16, hardware.FP16, hardware.FP32} {
		if candidate == hardware.FP32 && d != hardware.FP32 && a.Kind != "cpu" {
			continue
		}
		if peak := a.Peak[candidate]; peak > 0 {
			return peak, candidate, nil
		}
	}
	return 0, "", fmt.Errorf("%s has no peak rate for %s, nor for bf16 or fp16", a.Name, d)
}

// operand returns the number format in which products of matrices stored as d compute: the weights'
// format where activations are quantised too and the accelerator has arithmetic for it, else the
// activations'. Beside MXFP4 weights the activations have 8 bits on accelerators that compute in 4
// bits, and stay wide on others.
func operand(a *hardware.Accelerator, d, activations hardware.DType) hardware.DType {
	format := d
	switch d {
	case hardware.FP8Block:
		format = hardware.FP8
	case hardware.MXFP4:
		format = hardware.FP8
		if a.Peak[hardware.FP4] == 0 {
			return activations
		}
	case hardware.FP8, hardware.INT8, hardware.FP4:
	default:
		return activations
	}
	if a.Peak[format] > 0 {
		return format
	}
	return activations
}

// bytesOf returns the bytes of one activation, its share of a block's scale included.
func bytesOf(d hardware.DType) float64 {
	switch d {
	case hardware.FP32, hardware.TF32:
		return 4
	case hardware.FP8, hardware.INT8:
		return 1
	case hardware.FP8Block:
		return 1 + 4.0/128
	case hardware.FP4:
		return 0.5 + 1.0/16
	case hardware.MXFP4:
		return 0.5 + 1.0/32
	default:
		return 2
	}
}

// overlap joins the seconds of compute and of memory traffic that run at the same time: (c^p +
// m^p)^(1/p), the larger of them for infinite p.
func overlap(compute, memory, p float64) float64 {
	larger, smaller := max(compute, memory), min(compute, memory)
	if larger == 0 || math.IsInf(p, 1) {
		return larger
	}
	return larger * math.Pow(1+math.Pow(smaller/larger, p), 1/p)
}

// times returns the duration of n runs of s seconds each.
func times(n, s float64) sim.Time { return sim.Seconds(n * s) }

// or1 returns a factor, or 1 if it is 0.
func or1(factor float64) float64 {
	if factor == 0 {
		return 1
	}
	return factor
}

// peakRate holds the constants of matrix products of one number format.
type peakRate struct {
	// format is the number format of the arithmetic, peak its peak in FLOP/s, efficiency the
	// fraction of it that large products reach.
	format           hardware.DType
	peak, efficiency float64
	// memory is the fraction of the bandwidth at which weights stream in, kernel the fixed time of
	// a product in seconds, overlap joins compute and memory time.
	memory, kernel, overlap float64
	// blocks is the fixed time in seconds by which the engine's products in 8 bits with a scale a
	// block take longer than those in 16 bits: the time of a kernel before them; 0 for other
	// formats, and where it was not measured.
	blocks float64
}

// slowdown is a factor on the times of steps; 0 and 1 change nothing.
type slowdown float64

// active reports whether the factor changes anything.
func (f slowdown) active() bool { return f != 0 && f != 1 }

// slowdownUnit is the unit in which factors on step times are counted, so that they multiply whole
// ticks the same on every machine.
const slowdownUnit = 1_000_000

// time returns a time under the slowdown.
func (f slowdown) time(t sim.Time) sim.Time {
	switch {
	case !f.active():
		return t
	case t < 0:
		return -f.time(-t)
	}
	high, low := bits.Mul64(uint64(t), uint64(math.Round(float64(f)*slowdownUnit)))
	if high >= slowdownUnit {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, slowdownUnit)
	return sim.Time(min(quotient, math.MaxInt64))
}
