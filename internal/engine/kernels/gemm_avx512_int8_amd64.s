#include "textflag.h"

#define LOADB \
	VPMOVSXBD   (BX), Z24     \
	VPMOVSXBD   16(BX), Z25   \
	VCVTDQ2PS   Z24, Z24      \
	VCVTDQ2PS   Z25, Z25      \
	PREFETCHT0  (R14)         \
	ADDQ        R15, R14      \
	ADDQ        $32, BX

#define DOT(n, c0, c1) \
	VFMADD231PS Z26, Z24, c0 \
	VFMADD231PS Z26, Z25, c1

#define START

#define SCALE(c0, c1) \
	MOVQ   scales+56(FP), R13 \
	VMULPS (R13), c0, c0      \
	VMULPS 64(R13), c1, c1

// func gemmInt8AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmInt8AVX512(SB), NOSPLIT, $0-88
#include "gemm_avx512_amd64.h"
