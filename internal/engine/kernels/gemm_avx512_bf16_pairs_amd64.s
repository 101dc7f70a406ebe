#include "textflag.h"
#include "gemm_avx512_pairs_amd64.h"

#define LOADB \
	VMOVDQU64 (BX), Z27   \
	VMOVDQU64 64(BX), Z28 \
	INTERLEAVE            \
	ADDQ $128, BX

// VDPBF16PS(n, first, source) is VDPBF16PS Z26, Zsource, Zn, which Go's assembler does not know: EVEX.512.F3.0F38.W0 52 /r
// (Intel, Software Developer's Manual, volume 2). source is the byte with the inverted bits of 24 or 25.
#define VDPBF16PS(n, source) \
	BYTE $0x62                                                 \
	BYTE $(0x92 ^ (((n)>>3)&1)<<7 ^ (((n)>>4)&1)<<4)           \
	BYTE $source                                               \
	BYTE $0x40                                                 \
	BYTE $0x52                                                 \
	BYTE $(0xC2 | ((n)&7)<<3)

#define DOT(n, c0, c1) \
	VDPBF16PS(2*n, 0x3E)   \
	VDPBF16PS(2*n+1, 0x36)

#define START SETUP

#define SCALE(c0, c1) ORDER(c0, c1)

// func gemmBF16Pairs(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmBF16Pairs(SB), NOSPLIT, $0-88
#include "gemm_avx512_amd64.h"

// func roundBF16(dst *uint16, x *float32, n int)
TEXT ·roundBF16(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	MOVL $1, AX
	VPBROADCASTD AX, Z3
	MOVL $0x7fff, AX
	VPBROADCASTD AX, Z4
loop:
	SUBQ $16, CX
	JLT  done
	VMOVUPS (SI), Z0
	VPSRLD  $16, Z0, Z1
	VPANDD  Z3, Z1, Z1
	VPADDD  Z4, Z0, Z0
	VPADDD  Z1, Z0, Z0
	VPSRLD  $16, Z0, Z0
	VPMOVDW Z0, (DI)
	ADDQ    $64, SI
	ADDQ    $32, DI
	JMP     loop
done:
	VZEROUPPER
	RET
