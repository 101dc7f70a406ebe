package kernels

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// native returns the assembly kernels that this CPU can run, fastest last.
func native() []*Set {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	avx2 := &Set{
		Name: "avx2", maxRows: 6, width: PanelWidth / 2,
		gemm: [3]gemmFunc{gemmF32AVX2, gemmBF16AVX2, gemmInt8AVX2},
		gelu: geluAVX2, scale: scaleAVX2, sum: sumAVX2, squares: squaresAVX2,
		standardise: standardiseAVX2, softmax: softmaxAVX2, read: readAVX2,
	}
	if !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512BW || !cpu.X86.HasAVX512VL {
		return []*Set{avx2}
	}
	// the element-wise kernels are too small a part of a step to gain from wider vectors
	avx512 := *avx2
	avx512.Name, avx512.maxRows, avx512.width = "avx512", 12, PanelWidth
	avx512.gemm = [3]gemmFunc{gemmF32AVX512, gemmBF16AVX512, gemmInt8AVX512}
	if !cpu.X86.HasAVX512VNNI || !cpu.X86.HasAVX512BF16 {
		return []*Set{avx2, &avx512}
	}
	pairs := avx512
	pairs.Name = "avx512-pairs"
	pairs.gemm = [3]gemmFunc{gemmF32AVX512, gemmBF16Pairs, gemmInt8Pairs}
	pairs.round = [3]roundFunc{BF16: func(dst []uint16, x []float32) float32 {
		return roundHalves(dst, x, roundBF16)
	}, Int8: func(dst []uint16, x []float32) float32 {
		return roundIntegers(dst, x, largest16, roundInt16)
	}}
	return []*Set{avx2, &avx512, &pairs}
}

//go:noescape
func gemmBF16Pairs(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func gemmInt8Pairs(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func roundBF16(dst *uint16, x *float32, n int)

//go:noescape
func largest16(x *float32, n int) float32

//go:noescape
func roundInt16(dst *uint16, x *float32, n int, inverse float32)

//go:noescape
func gemmF32AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func gemmBF16AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func gemmInt8AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func gemmF32AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func gemmBF16AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func gemmInt8AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func scaleAVX2(x *float32, n int, f float32)

//go:noescape
func sumAVX2(x *float32, n int) float32

//go:noescape
func squaresAVX2(x *float32, n int, mean float32) float32

//go:noescape
func standardiseAVX2(dst, x, weight, bias *float32, n int, mean, inverse float32)

//go:noescape
func softmaxAVX2(scores *float32, rows, visible, step int, scale float32, max, sum,
	correction *float32)

//go:noescape
func readAVX2(x *float32, n int) float32
