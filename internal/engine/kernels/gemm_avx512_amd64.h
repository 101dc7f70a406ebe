// The body of the AVX-512 micro-kernels: 1 to 12 rows × 32 columns of accumulators in Z0…Z23. An element of a has 4 bytes:
// a float32, or a pair of 16-bit numbers that belong to two rows of weights. A file that includes this defines LOADB, which
// loads the weights of the next 32 columns into Z24 and Z25, prefetches, and advances BX and R14; DOT(n, c0, c1), which adds
// the products of Z26 with Z24 and Z25 to c0 and c1, the accumulators Z(2n) and Z(2n+1); START and SCALE, which turn the sums
// of a row into what is added to dst.
//
// DI dst, SI bytes between rows of dst, BX weights, CX elements of a row of a left, DX bytes between rows of a,
// R14 what to prefetch, R15 by how much that advances with each row of weights,
// R8, R9, R10, R11 rows 0, 3, 6 and 9 of a.

#define ROW(x, n, c0, c1) \
	VBROADCASTSS x, Z26 \
	DOT(n, c0, c1)

#define STEP1(o)  LOADB; ROW(o(R8), 0, Z0, Z1)
#define STEP2(o)  STEP1(o); ROW(o(R8)(DX*1), 1, Z2, Z3)
#define STEP3(o)  STEP2(o); ROW(o(R8)(DX*2), 2, Z4, Z5)
#define STEP4(o)  STEP3(o); ROW(o(R9), 3, Z6, Z7)
#define STEP5(o)  STEP4(o); ROW(o(R9)(DX*1), 4, Z8, Z9)
#define STEP6(o)  STEP5(o); ROW(o(R9)(DX*2), 5, Z10, Z11)
#define STEP7(o)  STEP6(o); ROW(o(R10), 6, Z12, Z13)
#define STEP8(o)  STEP7(o); ROW(o(R10)(DX*1), 7, Z14, Z15)
#define STEP9(o)  STEP8(o); ROW(o(R10)(DX*2), 8, Z16, Z17)
#define STEP10(o) STEP9(o); ROW(o(R11), 9, Z18, Z19)
#define STEP11(o) STEP10(o); ROW(o(R11)(DX*1), 10, Z20, Z21)
#define STEP12(o) STEP11(o); ROW(o(R11)(DX*2), 11, Z22, Z23)

#define NEXT(n) \
	ADDQ $n, R8  \
	ADDQ $n, R9  \
	ADDQ $n, R10 \
	ADDQ $n, R11

#define LOOP(step, loop, tail, store) \
loop:                  \
	CMPQ CX, $4        \
	JLT  tail          \
	step(0)            \
	step(4)            \
	step(8)            \
	step(12)           \
	NEXT(16)           \
	SUBQ $4, CX        \
	JMP  loop          \
tail:                  \
	TESTQ CX, CX       \
	JZ   store         \
	step(0)            \
	NEXT(4)            \
	DECQ CX            \
	JMP  tail

#define STORE(c0, c1) \
	SCALE(c0, c1)            \
	VADDPS  (DI), c0, c0     \
	VADDPS  64(DI), c1, c1   \
	VMOVUPS c0, (DI)         \
	VMOVUPS c1, 64(DI)       \
	ADDQ    SI, DI

	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ lda+24(FP), DX
	MOVQ b+32(FP), BX
	MOVQ k+40(FP), CX
	MOVQ rows+48(FP), R12
	MOVQ ahead+64(FP), R14
	MOVQ stride+72(FP), R15
	SHLQ $2, SI
	SHLQ $2, DX
	LEAQ (DX)(DX*2), R13
	LEAQ (R8)(R13*1), R9
	LEAQ (R9)(R13*1), R10
	LEAQ (R10)(R13*1), R11
	VPXORD Z0, Z0, Z0
	VMOVAPS Z0, Z1
	VMOVAPS Z0, Z2
	VMOVAPS Z0, Z3
	VMOVAPS Z0, Z4
	VMOVAPS Z0, Z5
	VMOVAPS Z0, Z6
	VMOVAPS Z0, Z7
	VMOVAPS Z0, Z8
	VMOVAPS Z0, Z9
	VMOVAPS Z0, Z10
	VMOVAPS Z0, Z11
	VMOVAPS Z0, Z12
	VMOVAPS Z0, Z13
	VMOVAPS Z0, Z14
	VMOVAPS Z0, Z15
	VMOVAPS Z0, Z16
	VMOVAPS Z0, Z17
	VMOVAPS Z0, Z18
	VMOVAPS Z0, Z19
	VMOVAPS Z0, Z20
	VMOVAPS Z0, Z21
	VMOVAPS Z0, Z22
	VMOVAPS Z0, Z23
	CMPQ R12, $12
	JEQ  loop12
	CMPQ R12, $1
	JEQ  loop1
	CMPQ R12, $2
	JEQ  loop2
	CMPQ R12, $3
	JEQ  loop3
	CMPQ R12, $4
	JEQ  loop4
	CMPQ R12, $5
	JEQ  loop5
	CMPQ R12, $6
	JEQ  loop6
	CMPQ R12, $7
	JEQ  loop7
	CMPQ R12, $8
	JEQ  loop8
	CMPQ R12, $9
	JEQ  loop9
	CMPQ R12, $10
	JEQ  loop10
	JMP  loop11

	LOOP(STEP1, loop1, tail1, store)
	LOOP(STEP2, loop2, tail2, store)
	LOOP(STEP3, loop3, tail3, store)
	LOOP(STEP4, loop4, tail4, store)
	LOOP(STEP5, loop5, tail5, store)
	LOOP(STEP6, loop6, tail6, store)
	LOOP(STEP7, loop7, tail7, store)
	LOOP(STEP8, loop8, tail8, store)
	LOOP(STEP9, loop9, tail9, store)
	LOOP(STEP10, loop10, tail10, store)
	LOOP(STEP11, loop11, tail11, store)
	LOOP(STEP12, loop12, tail12, store)

store:
	START
	STORE(Z0, Z1)
	DECQ R12
	JZ   done
	STORE(Z2, Z3)
	DECQ R12
	JZ   done
	STORE(Z4, Z5)
	DECQ R12
	JZ   done
	STORE(Z6, Z7)
	DECQ R12
	JZ   done
	STORE(Z8, Z9)
	DECQ R12
	JZ   done
	STORE(Z10, Z11)
	DECQ R12
	JZ   done
	STORE(Z12, Z13)
	DECQ R12
	JZ   done
	STORE(Z14, Z15)
	DECQ R12
	JZ   done
	STORE(Z16, Z17)
	DECQ R12
	JZ   done
	STORE(Z18, Z19)
	DECQ R12
	JZ   done
	STORE(Z20, Z21)
	DECQ R12
	JZ   done
	STORE(Z22, Z23)
done:
	VZEROUPPER
	RET
