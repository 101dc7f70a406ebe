#include "textflag.h"

#define LOADB \
	VMOVUPS     (BX), Y12     \
	VMOVUPS     32(BX), Y13   \
	PREFETCHT0  (R14)         \
	PREFETCHT0  64(R14)       \
	ADDQ        R15, R14      \
	ADDQ        $128, BX

#define SCALE(c0, c1)

// func gemmF32AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmF32AVX2(SB), NOSPLIT, $0-88
#include "gemm_avx2_amd64.h"
