// What the micro-kernels over pairs of rows of weights share. Two rows of 16-bit weights, A and B, are in Z27 and Z28.
// INTERLEAVE makes pairs of them, one a column: in each 128-bit lane, Z24 gets the pairs of the lower four columns and Z25
// those of the upper four. ORDER brings the sums of a row back into the order of columns, with the indices that SETUP loads.
// Each load prefetches for two rows.

DATA lower<>+0(SB)/8, $0
DATA lower<>+8(SB)/8, $1
DATA lower<>+16(SB)/8, $8
DATA lower<>+24(SB)/8, $9
DATA lower<>+32(SB)/8, $2
DATA lower<>+40(SB)/8, $3
DATA lower<>+48(SB)/8, $10
DATA lower<>+56(SB)/8, $11
GLOBL lower<>(SB), RODATA|NOPTR, $64

DATA upper<>+0(SB)/8, $4
DATA upper<>+8(SB)/8, $5
DATA upper<>+16(SB)/8, $12
DATA upper<>+24(SB)/8, $13
DATA upper<>+32(SB)/8, $6
DATA upper<>+40(SB)/8, $7
DATA upper<>+48(SB)/8, $14
DATA upper<>+56(SB)/8, $15
GLOBL upper<>(SB), RODATA|NOPTR, $64

#define INTERLEAVE \
	VPUNPCKLWD Z28, Z27, Z24 \
	VPUNPCKHWD Z28, Z27, Z25 \
	PREFETCHT0 (R14)         \
	ADDQ       R15, R14      \
	PREFETCHT0 (R14)         \
	ADDQ       R15, R14

#define SETUP \
	VMOVDQU64 lower<>(SB), Z28 \
	VMOVDQU64 upper<>(SB), Z29

// VPERMT2Q overwrites its table, so Z27 keeps the first half.
#define ORDER(c0, c1) \
	VMOVDQA64 c0, Z27      \
	VPERMT2Q  c1, Z28, c0  \
	VPERMT2Q  c1, Z29, Z27 \
	VMOVDQA64 Z27, c1
