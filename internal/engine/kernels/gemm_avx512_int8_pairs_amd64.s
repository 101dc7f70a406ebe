#include "textflag.h"
#include "gemm_avx512_pairs_amd64.h"

#define LOADB \
	VPMOVSXBW (BX), Z27   \
	VPMOVSXBW 32(BX), Z28 \
	INTERLEAVE            \
	ADDQ $64, BX

#define DOT(n, c0, c1) \
	VPDPWSSD Z26, Z24, c0 \
	VPDPWSSD Z26, Z25, c1

// R13 points to the columns' scales, AX to the rows' units.
#define START \
	SETUP                    \
	MOVQ scales+56(FP), R13  \
	MOVQ units+80(FP), AX

// A sum of integers times the unit of its row and the scale of its column is a sum of products.
#define SCALE(c0, c1) \
	ORDER(c0, c1)               \
	VCVTDQ2PS    c0, c0         \
	VCVTDQ2PS    c1, c1         \
	VBROADCASTSS (AX), Z26      \
	VMULPS       Z26, c0, c0    \
	VMULPS       Z26, c1, c1    \
	VMULPS       (R13), c0, c0  \
	VMULPS       64(R13), c1, c1 \
	ADDQ         $4, AX

// func gemmInt8Pairs(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmInt8Pairs(SB), NOSPLIT, $0-88
#include "gemm_avx512_amd64.h"

// func largest16(x *float32, n int) float32
TEXT ·largest16(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL $0x7fffffff, AX
	VPBROADCASTD AX, Z3
	VPXORD Z1, Z1, Z1
loop:
	SUBQ   $16, CX
	JLT    done
	VPANDD (SI), Z3, Z0
	VMAXPS Z0, Z1, Z1
	ADDQ   $64, SI
	JMP    loop
done:
	VEXTRACTF64X4 $1, Z1, Y0
	VMAXPS        Y0, Y1, Y1
	VEXTRACTF128  $1, Y1, X0
	VMAXPS        X0, X1, X1
	VPSHUFD       $0x4E, X1, X0
	VMAXPS        X0, X1, X1
	VPSHUFD       $0xB1, X1, X0
	VMAXPS        X0, X1, X1
	VMOVSS        X1, ret+16(FP)
	VZEROUPPER
	RET

// func roundInt16(dst *uint16, x *float32, n int, inverse float32)
TEXT ·roundInt16(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS inverse+24(FP), Z3
loop:
	SUBQ      $16, CX
	JLT       done
	VMULPS    (SI), Z3, Z0
	VCVTPS2DQ Z0, Z0
	VPMOVSDW  Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	JMP       loop
done:
	VZEROUPPER
	RET
