#include "textflag.h"

#define LOADB \
	VPMOVSXBD   (BX), Y12     \
	VPMOVSXBD   8(BX), Y13    \
	VCVTDQ2PS   Y12, Y12      \
	VCVTDQ2PS   Y13, Y13      \
	PREFETCHT0  (R14)         \
	ADDQ        R15, R14      \
	ADDQ        $32, BX

#define SCALE(c0, c1) \
	MOVQ   scales+56(FP), R13 \
	VMULPS (R13), c0, c0      \
	VMULPS 32(R13), c1, c1

// func gemmInt8AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmInt8AVX2(SB), NOSPLIT, $0-88
#include "gemm_avx2_amd64.h"
