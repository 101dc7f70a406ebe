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

#define DOT(n, c0, c1) \
	VFMADD231PS Z26, Z24, c0 \
	VFMADD231PS Z26, Z25, c1

#define START

#define SCALE(c0, c1)

// func gemmBF16AVX512(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmBF16AVX512(SB), NOSPLIT, $0-88
#include "gemm_avx512_amd64.h"
