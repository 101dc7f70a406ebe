#include "textflag.h"

// The NEON micro-kernel: 1 to 6 rows × 16 columns of accumulators in V0…V23, for one half of a 32-column panel and then the
// other.
//
// R0 dst, R1 bytes between its rows; R2 a, R3 bytes between its rows; R4 weights; R5 rows of weights; R6 rows of a; R7 what to
// prefetch, R8 by how much that advances. R9…R14 are the rows of a, R15 counts rows of weights, R19 halves; R20 is where
// weights are read, R21 where dst is.

#define ROWS1(do) do(R9, V0.S4, V1.S4, V2.S4, V3.S4)
#define ROWS2(do) ROWS1(do); do(R10, V4.S4, V5.S4, V6.S4, V7.S4)
#define ROWS3(do) ROWS2(do); do(R11, V8.S4, V9.S4, V10.S4, V11.S4)
#define ROWS4(do) ROWS3(do); do(R12, V12.S4, V13.S4, V14.S4, V15.S4)
#define ROWS5(do) ROWS4(do); do(R13, V16.S4, V17.S4, V18.S4, V19.S4)
#define ROWS6(do) ROWS5(do); do(R14, V20.S4, V21.S4, V22.S4, V23.S4)

#define LOAD(p, c0, c1, c2, c3) \
	VLD1 (R21), [c0, c1, c2, c3] \
	ADD  R1, R21

#define STORE(p, c0, c1, c2, c3) \
	VST1 [c0, c1, c2, c3], (R21) \
	ADD  R1, R21

#define FMA(p, c0, c1, c2, c3) \
	VLD1R.P 4(p), [V28.S4]        \
	VFMLA   V28.S4, V24.S4, c0    \
	VFMLA   V28.S4, V25.S4, c1    \
	VFMLA   V28.S4, V26.S4, c2    \
	VFMLA   V28.S4, V27.S4, c3

#define KERNEL(rows, begin, loop) \
begin:                     \
	MOVD R0, R21           \
	rows(LOAD)             \
loop:                      \
	PRFM (R7), PLDL1KEEP   \
	ADD  R8, R7            \
	VLD1 (R20), [V24.S4, V25.S4, V26.S4, V27.S4] \
	ADD  $128, R20         \
	rows(FMA)              \
	SUBS $1, R15           \
	BNE  loop              \
	MOVD R0, R21           \
	rows(STORE)            \
	B    next

// func gemmF32NEON(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, scales *float32, ahead uintptr, stride int, units *float32)
TEXT ·gemmF32NEON(SB), NOSPLIT, $0-88
	MOVD dst+0(FP), R0
	MOVD ldd+8(FP), R1
	MOVD a+16(FP), R2
	MOVD lda+24(FP), R3
	MOVD b+32(FP), R4
	MOVD k+40(FP), R5
	MOVD rows+48(FP), R6
	MOVD ahead+64(FP), R7
	MOVD stride+72(FP), R8
	LSL  $2, R1
	LSL  $2, R3
	MOVD $2, R19
half:
	MOVD R2, R9
	ADD  R3, R9, R10
	ADD  R3, R10, R11
	ADD  R3, R11, R12
	ADD  R3, R12, R13
	ADD  R3, R13, R14
	MOVD R4, R20
	MOVD R5, R15
	CMP  $6, R6
	BEQ  begin6
	CMP  $1, R6
	BEQ  begin1
	CMP  $2, R6
	BEQ  begin2
	CMP  $3, R6
	BEQ  begin3
	CMP  $4, R6
	BEQ  begin4
	B    begin5

	KERNEL(ROWS1, begin1, loop1)
	KERNEL(ROWS2, begin2, loop2)
	KERNEL(ROWS3, begin3, loop3)
	KERNEL(ROWS4, begin4, loop4)
	KERNEL(ROWS5, begin5, loop5)
	KERNEL(ROWS6, begin6, loop6)

next:
	ADD  $64, R0
	ADD  $64, R4
	SUBS $1, R19
	BNE  half
	RET
