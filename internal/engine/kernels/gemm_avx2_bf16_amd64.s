#include "textflag.h"

// A bfloat16 is the upper half of a float32.
#define LOADB \
	VPMOVZXWD   (BX), Y12     \
	VPMOVZXWD   16(BX), Y13   \
	VPSLLD      $16, Y12, Y12 \
	VPSLLD      $16, Y13, Y13 \
	PREFETCHT0  (R14)         \
	ADDQ        R15, R14      \
	ADDQ        $64, BX

#define SCALE(c0, c1)

// func gemmBF16AVX2(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmBF16AVX2(SB), NOSPLIT, $0-88
#include "gemm_avx2_amd64.h"
