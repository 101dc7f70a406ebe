package steptime

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// rate returns the peak FLOP/s of a at number format d and the format whose peak it is: d itself, or the nearest that a computes in.
// FP16 and BF16 stand in for each other, and formats without arithmetic of their own are widened to 16 bits first
// (weight-only quantisation).
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

// operand returns the number format that matrix products compute in: that of the weights where activations are quantised too (FP8 and
// INT8 on hardware that has it), else that of the activations.
func operand(c *Config) hardware.DType {
	switch c.Weights {
	case hardware.FP8, hardware.INT8, hardware.FP4:
		if c.Accelerator.Peak[c.Weights] > 0 {
			return c.Weights
		}
	}
	return c.Activations
}

// bytesOf returns the bytes of one activation.
func bytesOf(d hardware.DType) float64 {
	switch d {
	case hardware.FP32, hardware.TF32:
		return 4
	case hardware.FP8, hardware.INT8:
		return 1
	default:
		return 2
	}
}

// overlap joins the seconds of compute and of memory traffic that run at the same time: (c^p + m^p)^(1/p), the larger of them for
// infinite p.
func overlap(compute, memory, p float64) float64 {
	larger, smaller := max(compute, memory), min(compute, memory)
	if larger == 0 || math.IsInf(p, 1) {
		return larger
	}
	return larger * math.Pow(1+math.Pow(smaller/larger, p), 1/p)
}

// times returns the duration of n runs of s seconds each.
func times(n, s float64) sim.Time { return sim.Seconds(n * s) }
