package models

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
)

// Format is the storage format of a matrix's weights. The zero Format follows the deployment.
type Format struct {
	// DType is the number format of a weight, Bits its width.
	DType hardware.DType
	Bits  int64
	// Group is the number of weights that share GroupBits of scales and zero points; 0 where those
	// are neglected.
	Group, GroupBits int64
	// WeightOnly reports whether activations stay wide, although accelerators may compute in DType.
	WeightOnly bool
}

// standardFormat returns how weights are stored where only their number format is known:
//   - INT4: groups of 128 with a 16-bit scale and a 4-bit zero point (AWQ, arXiv:2306.00978,
//     section 5.1; GPTQ's usual setting).
//   - FP4: NVFP4, groups of 16 with an 8-bit scale (NVIDIA, "Introducing NVFP4", 2025).
//   - MXFP4, FP6: groups of 32 with an 8-bit scale (OCP Microscaling Formats specification 1.0,
//     2023).
//   - Q4_0, Q8_0: groups of 32 with a 16-bit scale; Q6K: groups of 256 with 16 8-bit scales and one
//     of 16 bits; Q4KM and Q5KM: 4.5 and 5.5 bits, and 6.56 in half of the values and of the down
//     projections (ggml-org/llama.cpp, ggml-common.h and llama-quant.cpp): 4.58 GiB of Llama-3-8B.
//   - INT8, FP8: one scale a channel, tensor or block of 128×128, which is neglected: less than 0.1
//     %.
func standardFormat(d hardware.DType) Format {
	switch d {
	case hardware.INT4:
		return Format{DType: d, Bits: 4, Group: 128, GroupBits: 16 + 4}
	case hardware.FP4:
		return Format{DType: d, Bits: 4, Group: 16, GroupBits: 8}
	case hardware.MXFP4:
		return Format{DType: d, Bits: 4, Group: 32, GroupBits: 8}
	case hardware.Q4_0:
		return Format{DType: d, Bits: 4, Group: 32, GroupBits: 16}
	case hardware.Q4KM:
		return Format{DType: d, Bits: 4, Group: 100, GroupBits: 84}
	case hardware.Q5KM:
		return Format{DType: d, Bits: 5, Group: 100, GroupBits: 70}
	case hardware.Q6K:
		return Format{DType: d, Bits: 6, Group: 256, GroupBits: 16*8 + 16}
	case hardware.Q8_0:
		return Format{DType: d, Bits: 8, Group: 32, GroupBits: 16}
	case hardware.FP6:
		return Format{DType: d, Bits: 6, Group: 32, GroupBits: 8}
	case hardware.INT8, hardware.FP8, hardware.FP8Block:
		return Format{DType: d, Bits: 8}
	case hardware.FP32, hardware.TF32:
		return Format{DType: d, Bits: 32}
	default:
		if bits := narrowBits(d); bits > 0 {
			return Format{DType: d, Bits: bits, Group: 128, GroupBits: 16 + bits}
		}
		return Format{DType: d, Bits: 16}
	}
}

// narrowBits returns the width of the integers of weight-only quantisation that have no arithmetic
// of their own; 0 for others.
func narrowBits(d hardware.DType) int64 {
	switch d {
	case "int2":
		return 2
	case "int3":
		return 3
	case "int5":
		return 5
	case "int6":
		return 6
	}
	return 0
}

// Bytes returns the bytes of n weights of matrices, rounded up.
func (f Format) Bytes(n int64) int64 {
	if f.Group == 0 {
		return ceilDiv(n*f.Bits, 8)
	}
	return ceilDiv(ceilDiv(n, f.Group)*(f.Bits*f.Group+f.GroupBits), 8)
}

// Formats are the formats of the matrices of a layer, by the names of its linear layers.
type Formats map[string]Format

// wideBytes returns the bytes of a value that quantisation leaves alone: of weights outside the
// layers' matrices, and of activations.
func wideBytes(d hardware.DType) int64 {
	if d == hardware.FP32 || d == hardware.TF32 {
		return 4
	}
	return 2
}

// cacheBits returns the bits of n cached elements. In FP4 each 16 have a scale of 8 bits.
func cacheBits(kv hardware.DType, n int64) int64 {
	switch kv {
	case hardware.INT4:
		return 4 * n
	case hardware.FP4:
		return 4*n + 8*((n+15)/16)
	case hardware.INT8, hardware.FP8:
		return 8 * n
	case hardware.FP32, hardware.TF32:
		return 32 * n
	default:
		return 16 * n
	}
}

// size is a figure of an architecture with its range.
type size struct {
	name               string
	value, least, most int
}

func checkSizes(ss []size) error {
	for _, s := range ss {
		if s.value < s.least || s.value > s.most {
			return fmt.Errorf("%s: found %d, want %d to %d", s.name, s.value, s.least, s.most)
		}
	}
	return nil
}

// product multiplies in 64 bits.
func product(factors ...int) int64 {
	n := int64(1)
	for _, f := range factors {
		n *= int64(f)
	}
	return n
}

func ceilDiv(n, d int64) int64 { return (n + d - 1) / d }

// split returns the larger share of n when it is split over tp GPUs.
func split(n, tp int) int { return (n + tp - 1) / tp }
