#include "textflag.h"

#define LOADB \
	VMOVUPS     (BX), Y12     \
	VMOVUPS     32(BX), Y13   \
	PREFETCHT0  2048(BX)      \
	PREFETCHT0  2112(BX)      \
	ADDQ        $128, BX

#define SCALE(c0, c1)

// func gemmF32AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32)
TEXT ·gemmF32AVX2(SB), NOSPLIT, $0-64
#include "gemm_avx2_amd64.h"
