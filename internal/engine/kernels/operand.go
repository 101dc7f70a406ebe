package kernels

import (
	"math"
	"unsafe"
)

// Operand is the left side of a product as the kernels of a set read it: rows of float32, or of
// 16-bit numbers where the processor multiplies pairs of those at once. It keeps its memory for the
// next use.
type Operand struct {
	rows, columns int
	x             []float32
	ldx           int
	// halves has a row of ldh numbers for each row of x, where the set rounds them; units has, for
	// each depth columns of x, the value of an integer of 1 in each row.
	halves []uint16
	ldh    int
	units  []float32
}

// Prepare makes an operand of rows rows of x, ldx elements apart, for products with m. The operand
// may refer to x, which must be finite. Where the set multiplies 16-bit numbers, the rows are
// rounded: for a matrix in BF16 to bfloat16, for one in Int8 to 16-bit integers whose unit is the
// largest magnitude in depth columns of the row, divided by 32767.
func (s *Set) Prepare(o *Operand, x []float32, ldx, rows int, m *Matrix) {
	checkRows(len(x), ldx, m.In, rows)
	o.rows, o.columns, o.x, o.ldx = rows, m.In, x, ldx
	o.halves, o.units = o.halves[:0], o.units[:0]
	round := s.round[m.format]
	if round == nil {
		return
	}
	o.ldh = (m.In + 1) &^ 1
	o.halves = grown(o.halves, rows*o.ldh)
	o.units = grown(o.units, (m.In+depth-1)/depth*rows)
	for r := range rows {
		row := o.halves[r*o.ldh:][:o.ldh]
		row[o.ldh-1] = 0 // in an odd number of columns, the last pair has one
		for k := 0; k < m.In; k += depth {
			n := min(depth, m.In-k)
			o.units[k/depth*rows+r] = round(row[k:][:n], x[r*ldx+k:][:n])
		}
	}
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// at returns what the kernels read for the rows from column k on, the elements from one row to the
// next, and the units of the rows, all in elements of four bytes.
func (o *Operand) at(k int) (a *float32, lda int, units *float32) {
	if len(o.halves) == 0 {
		return &o.x[k], o.ldx, nil
	}
	return (*float32)(unsafe.Pointer(&o.halves[k])), o.ldh / 2, &o.units[k/depth*o.rows]
}

// roundIntegers sets dst to x in units of the largest magnitude over 32767, and returns the unit.
// largest and round are the kernels for whole groups of 16 elements.
func roundIntegers(dst []uint16, x []float32, largest func(x *float32, n int) float32,
	round func(dst *uint16, x *float32, n int, inverse float32)) float32 {
	whole := len(x) &^ 15
	m := largest(&x[0], whole)
	for _, v := range x[whole:] {
		m = max(m, v, -v)
	}
	if m == 0 {
		clear(dst)
		return 0
	}
	inverse := 32767 / m
	round(&dst[0], &x[0], whole, inverse)
	for i, v := range x[whole:] {
		dst[whole+i] = uint16(int16(math.RoundToEven(float64(v * inverse))))
	}
	return m / 32767
}

// roundHalves sets dst to x in bfloat16 and returns 1. round is the kernel for whole groups of 16
// elements.
func roundHalves(dst []uint16, x []float32, round func(dst *uint16, x *float32, n int)) float32 {
	whole := len(x) &^ 15
	round(&dst[0], &x[0], whole)
	for i, v := range x[whole:] {
		dst[whole+i] = bfloat16(v)
	}
	return 1
}
