#include "textflag.h"

#define LOADB \
	VMOVUPS     (BX), Z24     \
	VMOVUPS     64(BX), Z25   \
	PREFETCHT0  (R14)         \
	PREFETCHT0  64(R14)       \
	ADDQ        R15, R14      \
	ADDQ        $128, BX

#define DOT(n, c0, c1) \
	VFMADD231PS Z26, Z24, c0 \
	VFMADD231PS Z26, Z25, c1

#define START

#define SCALE(c0, c1)

// func gemmF32AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmF32AVX512(SB), NOSPLIT, $0-88
#include "gemm_avx512_amd64.h"
