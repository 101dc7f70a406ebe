// The body of the AVX2 micro-kernels: 1 to 6 rows × 16 columns of accumulators in Y0…Y11; one half of a 32-column panel. A
// file that includes this defines LOADB, which loads the next 16 weights into Y12 and Y13 as float32, prefetches
// and advances BX and R14 to the next row of the panel, and SCALE, which multiplies a row's sums by the column scales.
//
// DI dst, SI bytes between rows of dst, BX weights, CX rows of weights left, DX bytes between rows of a,
// R14 what to prefetch, R15 by how much that advances with each row of weights,
// R8, R9 rows 0 and 3 of a.

#define FMA2(x, c0, c1) \
	VBROADCASTSS x, Y14        \
	VFMADD231PS  Y14, Y12, c0  \
	VFMADD231PS  Y14, Y13, c1

#define STEP1(o)  LOADB; FMA2(o(R8), Y0, Y1)
#define STEP2(o)  STEP1(o); FMA2(o(R8)(DX*1), Y2, Y3)
#define STEP3(o)  STEP2(o); FMA2(o(R8)(DX*2), Y4, Y5)
#define STEP4(o)  STEP3(o); FMA2(o(R9), Y6, Y7)
#define STEP5(o)  STEP4(o); FMA2(o(R9)(DX*1), Y8, Y9)
#define STEP6(o)  STEP5(o); FMA2(o(R9)(DX*2), Y10, Y11)

#define NEXT(n) \
	ADDQ $n, R8  \
	ADDQ $n, R9

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
	VADDPS  32(DI), c1, c1   \
	VMOVUPS c0, (DI)         \
	VMOVUPS c1, 32(DI)       \
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
	VXORPS Y0, Y0, Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y0, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y0, Y7
	VMOVAPS Y0, Y8
	VMOVAPS Y0, Y9
	VMOVAPS Y0, Y10
	VMOVAPS Y0, Y11
	CMPQ R12, $6
	JEQ  loop6
	CMPQ R12, $1
	JEQ  loop1
	CMPQ R12, $2
	JEQ  loop2
	CMPQ R12, $3
	JEQ  loop3
	CMPQ R12, $4
	JEQ  loop4
	JMP  loop5

	LOOP(STEP1, loop1, tail1, store)
	LOOP(STEP2, loop2, tail2, store)
	LOOP(STEP3, loop3, tail3, store)
	LOOP(STEP4, loop4, tail4, store)
	LOOP(STEP5, loop5, tail5, store)
	LOOP(STEP6, loop6, tail6, store)

store:
	STORE(Y0, Y1)
	DECQ R12
	JZ   done
	STORE(Y2, Y3)
	DECQ R12
	JZ   done
	STORE(Y4, Y5)
	DECQ R12
	JZ   done
	STORE(Y6, Y7)
	DECQ R12
	JZ   done
	STORE(Y8, Y9)
	DECQ R12
	JZ   done
	STORE(Y10, Y11)
done:
	VZEROUPPER
	RET
