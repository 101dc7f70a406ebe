#include "textflag.h"

#define LOADB \
	VMOVUPS     (BX), Z24     \
	VMOVUPS     64(BX), Z25   \
	PREFETCHT0  2048(BX)      \
	PREFETCHT0  2112(BX)      \
	ADDQ        $128, BX

#define SCALE(c0, c1)

// func gemmF32AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32)
TEXT ·gemmF32AVX512(SB), NOSPLIT, $0-64
#include "gemm_avx512_amd64.h"
