#include "textflag.h"

// exp(x) = 2ⁿ·exp(r) with n = round(x·log₂e) and r = x − n·ln 2, |r| ≤ ½ ln 2; ln 2 is split in two so that r is exact to
// float32, and exp(r) is the polynomial of the Cephes library's expf (S. L. Moshier, 1992). Below -87 the result is that of
// -87, the smallest normal number; above 88 that of 88.
DATA constants<>+0(SB)/4, $-87.0
DATA constants<>+4(SB)/4, $88.0
DATA constants<>+8(SB)/4, $1.44269504088896341
DATA constants<>+12(SB)/4, $0.693359375
DATA constants<>+16(SB)/4, $-2.12194440e-4
DATA constants<>+20(SB)/4, $1.9875691500e-4
DATA constants<>+24(SB)/4, $1.3981999507e-3
DATA constants<>+28(SB)/4, $8.3334519073e-3
DATA constants<>+32(SB)/4, $4.1665795894e-2
DATA constants<>+36(SB)/4, $1.6666665459e-1
DATA constants<>+40(SB)/4, $5.0000001201e-1
DATA constants<>+44(SB)/4, $1.0
DATA constants<>+48(SB)/4, $0.044715
DATA constants<>+52(SB)/4, $-1.59576912160573 // -2·√(2/π)
DATA constants<>+56(SB)/4, $-1.0e30
GLOBL constants<>(SB), RODATA|NOPTR, $60

DATA lanes<>+0(SB)/4, $0
DATA lanes<>+4(SB)/4, $1
DATA lanes<>+8(SB)/4, $2
DATA lanes<>+12(SB)/4, $3
DATA lanes<>+16(SB)/4, $4
DATA lanes<>+20(SB)/4, $5
DATA lanes<>+24(SB)/4, $6
DATA lanes<>+28(SB)/4, $7
GLOBL lanes<>(SB), RODATA|NOPTR, $32

// EXP_SETUP loads the constants that EXP needs into Y6…Y15.
#define EXP_SETUP \
	VBROADCASTSS constants<>+8(SB), Y6   \
	VBROADCASTSS constants<>+12(SB), Y7  \
	VBROADCASTSS constants<>+16(SB), Y8  \
	VBROADCASTSS constants<>+20(SB), Y9  \
	VBROADCASTSS constants<>+24(SB), Y10 \
	VBROADCASTSS constants<>+28(SB), Y11 \
	VBROADCASTSS constants<>+32(SB), Y12 \
	VBROADCASTSS constants<>+36(SB), Y13 \
	VBROADCASTSS constants<>+40(SB), Y14 \
	VBROADCASTSS constants<>+44(SB), Y15

// EXP replaces x by exp(x); n and p are scratch registers.
#define EXP(x, n, p) \
	VBROADCASTSS constants<>+0(SB), p \
	VMAXPS       p, x, x              \
	VBROADCASTSS constants<>+4(SB), p \
	VMINPS       p, x, x              \
	VMULPS       Y6, x, n             \
	VROUNDPS     $0, n, n             \
	VFNMADD231PS Y7, n, x             \
	VFNMADD231PS Y8, n, x             \
	VMOVAPS      Y9, p                \
	VFMADD213PS  Y10, x, p            \
	VFMADD213PS  Y11, x, p            \
	VFMADD213PS  Y12, x, p            \
	VFMADD213PS  Y13, x, p            \
	VFMADD213PS  Y14, x, p            \
	VFMADD213PS  Y15, x, p            \
	VFMADD213PS  Y15, p, x            \
	VCVTPS2DQ    n, n                 \
	VPSLLD       $23, n, n            \
	VPADDD       n, x, x

// HMAX reduces y to its largest lane, in all lanes of the low half; HSUM to the sum of its lanes.
#define HMAX(y, x, t) \
	VEXTRACTF128 $1, y, t        \
	VMAXPS       t, x, x         \
	VPERMILPS    $0x4e, x, t     \
	VMAXPS       t, x, x         \
	VPERMILPS    $0xb1, x, t     \
	VMAXPS       t, x, x

#define HSUM(y, x, t) \
	VEXTRACTF128 $1, y, t        \
	VADDPS       t, x, x         \
	VPERMILPS    $0x4e, x, t     \
	VADDPS       t, x, x         \
	VPERMILPS    $0xb1, x, t     \
	VADDPS       t, x, x

// func geluAVX2(x *float32, n int)
TEXT ·geluAVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	EXP_SETUP
	VBROADCASTSS constants<>+48(SB), Y4
	VBROADCASTSS constants<>+52(SB), Y5
geluLoop:
	SUBQ    $8, CX
	JLT     geluDone
	VMOVUPS (DI), Y0
	VMULPS  Y0, Y0, Y1
	VMOVAPS Y15, Y2
	VFMADD231PS Y4, Y1, Y2 // 1 + 0.044715 x²
	VMULPS  Y0, Y2, Y2
	VMULPS  Y5, Y2, Y1     // -2u
	EXP(Y1, Y2, Y3)
	VADDPS  Y15, Y1, Y1
	VDIVPS  Y1, Y0, Y0     // x / (1 + exp(-2u)) = x/2·(1 + tanh u)
	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	JMP     geluLoop
geluDone:
	VZEROUPPER
	RET

// func scaleAVX2(x *float32, n int, f float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS f+16(FP), Y1
scaleLoop:
	SUBQ    $8, CX
	JLT     scaleDone
	VMULPS  (DI), Y1, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	JMP     scaleLoop
scaleDone:
	VZEROUPPER
	RET

// func sumAVX2(x *float32, n int) float32
TEXT ·sumAVX2(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VXORPS Y0, Y0, Y0
sumLoop:
	SUBQ   $8, CX
	JLT    sumDone
	VADDPS (DI), Y0, Y0
	ADDQ   $32, DI
	JMP    sumLoop
sumDone:
	HSUM(Y0, X0, X1)
	VZEROUPPER
	MOVSS X0, ret+16(FP)
	RET

// func squaresAVX2(x *float32, n int, mean float32) float32
TEXT ·squaresAVX2(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS mean+16(FP), Y2
	VXORPS Y0, Y0, Y0
squaresLoop:
	SUBQ    $8, CX
	JLT     squaresDone
	VMOVUPS (DI), Y1
	VSUBPS  Y2, Y1, Y1
	VFMADD231PS Y1, Y1, Y0
	ADDQ    $32, DI
	JMP     squaresLoop
squaresDone:
	HSUM(Y0, X0, X1)
	VZEROUPPER
	MOVSS X0, ret+24(FP)
	RET

// func standardiseAVX2(dst, x, weight, bias *float32, n int, mean, inverse float32)
TEXT ·standardiseAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ weight+16(FP), R8
	MOVQ bias+24(FP), R9
	MOVQ n+32(FP), CX
	VBROADCASTSS mean+40(FP), Y2
	VBROADCASTSS inverse+44(FP), Y3
standardiseLoop:
	SUBQ    $8, CX
	JLT     standardiseDone
	VMOVUPS (SI), Y0
	VSUBPS  Y2, Y0, Y0
	VMULPS  Y3, Y0, Y0
	VMOVUPS (R9), Y1
	VFMADD231PS (R8), Y0, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, R8
	ADDQ    $32, R9
	ADDQ    $32, DI
	JMP     standardiseLoop
standardiseDone:
	VZEROUPPER
	RET

// BELOW sets Y4 to all ones in the lanes, numbered from base, that are below the count in DX.
#define BELOW(base) \
	LEAQ         -base(DX), R12        \
	VMOVD        R12, X4               \
	VPBROADCASTD X4, Y4                \
	VPCMPGTD     lanes<>(SB), Y4, Y4

// func softmaxAVX2(scores *float32, rows, visible, step int, scale float32, max, sum, correction *float32)
TEXT ·softmaxAVX2(SB), NOSPLIT, $0-64
	MOVQ scores+0(FP), DI
	MOVQ rows+8(FP), CX
	MOVQ visible+16(FP), DX
	MOVQ step+24(FP), R8
	MOVQ max+40(FP), R9
	MOVQ sum+48(FP), R10
	MOVQ correction+56(FP), R11
	EXP_SETUP
softmaxRow:
	TESTQ DX, DX
	JLE   softmaxHidden
	// Y0…Y3 the scaled scores, hidden ones at -1e30.
	VBROADCASTSS scale+32(FP), Y4
	VMULPS (DI), Y4, Y0
	VMULPS 32(DI), Y4, Y1
	VMULPS 64(DI), Y4, Y2
	VMULPS 96(DI), Y4, Y3
	CMPQ  DX, $32
	JGE   softmaxMax
	VBROADCASTSS constants<>+56(SB), Y5
	BELOW(0)
	VBLENDVPS Y4, Y0, Y5, Y0
	BELOW(8)
	VBLENDVPS Y4, Y1, Y5, Y1
	BELOW(16)
	VBLENDVPS Y4, Y2, Y5, Y2
	BELOW(24)
	VBLENDVPS Y4, Y3, Y5, Y3
softmaxMax:
	VMAXPS Y0, Y1, Y4
	VMAXPS Y2, Y3, Y5
	VMAXPS Y4, Y5, Y4
	HMAX(Y4, X4, X5)
	VMOVSS (R9), X5
	VMAXSS X5, X4, X4
	VMOVSS X4, (R9)
	VSUBSS X4, X5, X5
	VMOVSS X5, (R11) // old maximum - new maximum; its exponential follows
	VBROADCASTSS X4, Y4
	VSUBPS Y4, Y0, Y0
	VSUBPS Y4, Y1, Y1
	VSUBPS Y4, Y2, Y2
	VSUBPS Y4, Y3, Y3
	EXP(Y0, Y4, Y5)
	EXP(Y1, Y4, Y5)
	EXP(Y2, Y4, Y5)
	EXP(Y3, Y4, Y5)
	CMPQ  DX, $32
	JGE   softmaxSum
	BELOW(0)
	VANDPS Y4, Y0, Y0
	BELOW(8)
	VANDPS Y4, Y1, Y1
	BELOW(16)
	VANDPS Y4, Y2, Y2
	BELOW(24)
	VANDPS Y4, Y3, Y3
softmaxSum:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VADDPS Y0, Y1, Y0
	VADDPS Y2, Y3, Y2
	VADDPS Y0, Y2, Y0
	HSUM(Y0, X0, X1)
	VXORPS Y1, Y1, Y1
	VMOVSS (R11), X1
	EXP(Y1, Y4, Y5)
	VMOVSS X1, (R11)
	VMULSS (R10), X1, X1
	VADDSS X0, X1, X1
	VMOVSS X1, (R10)
	JMP   softmaxNext
softmaxHidden:
	VXORPS Y0, Y0, Y0
	VMOVUPS Y0, (DI)
	VMOVUPS Y0, 32(DI)
	VMOVUPS Y0, 64(DI)
	VMOVUPS Y0, 96(DI)
	VMOVSS X15, (R11)
softmaxNext:
	ADDQ $128, DI
	ADDQ $4, R9
	ADDQ $4, R10
	ADDQ $4, R11
	ADDQ R8, DX
	DECQ CX
	JNZ  softmaxRow
	VZEROUPPER
	RET

// func readAVX2(x *float32, n int) float32
TEXT ·readAVX2(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
readLoop:
	SUBQ  $32, CX
	JLT   readDone
	PREFETCHT0 2048(DI)
	PREFETCHT0 2112(DI)
	VADDPS (DI), Y0, Y0
	VADDPS 32(DI), Y1, Y1
	VADDPS 64(DI), Y2, Y2
	VADDPS 96(DI), Y3, Y3
	ADDQ  $128, DI
	JMP   readLoop
readDone:
	VADDPS Y0, Y1, Y0
	VADDPS Y2, Y3, Y2
	VADDPS Y0, Y2, Y0
	HSUM(Y0, X0, X1)
	VZEROUPPER
	MOVSS X0, ret+16(FP)
	RET
