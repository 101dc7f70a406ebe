#include "textflag.h"

// A bfloat16 is the upper half of a float32.
#define LOADB \
	VPMOVZXWD   (BX), Z24     \
	VPMOVZXWD   32(BX), Z25   \
	VPSLLD      $16, Z24, Z24 \
	VPSLLD      $16, Z25, Z25 \
	PREFETCHT0  (R14)         \
	ADDQ        R15, R14      \
	ADDQ        $64, BX

#define SCALE(c0, c1)

// func gemmBF16AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int)
TEXT ·gemmBF16AVX512(SB), NOSPLIT, $0-80
#include "gemm_avx512_amd64.h"
