package kernels

import "unsafe"

// native returns the kernels with NEON, which every arm64 processor has: products with float32
// weights in assembly, the rest in plain Go.
func native() []*Set {
	neon := *portable()
	neon.Name, neon.maxRows = "neon", 6
	neon.gemm[F32] = gemmF32NEON
	return []*Set{&neon}
}

//go:noescape
func gemmF32NEON(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)
