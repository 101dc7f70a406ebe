package safetensors

import (
	"encoding/binary"
	"math"
)

// DType is a number format as the header spells it.
type DType string

// The formats that can be read as float32.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
)

// size returns the bytes of one element, or 0 for a format that the file format does not know.
func (d DType) size() int64 {
	switch d {
	case "BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3":
		return 1
	case "U16", "I16", F16, BF16:
		return 2
	case "U32", "I32", F32:
		return 4
	case "U64", "I64", "F64":
		return 8
	}
	return 0
}

// decode fills dst from the little-endian bytes of src, which holds len(dst) elements of a format
// that IsFloat accepts.
func (d DType) decode(dst []float32, src []byte) {
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = float16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	}
}

// IsFloat reports whether tensors of the format can be read as float32: F32, F16 and BF16.
func (d DType) IsFloat() bool { return d == F32 || d == F16 || d == BF16 }

// float16 converts an IEEE 754 half-precision number; every one is exact in float32.
func float16(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h) & 0x3ff
	switch exponent {
	case 0: // zero and subnormals: fraction · 2⁻²⁴
		f := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
