package kernels

import (
	"fmt"
	"math"
	"unsafe"
)

// Matrix is a weight matrix of In rows and Out columns (y = x·W) in panels of PanelWidth columns:
// all rows of the first 32 columns, then all rows of the next. A kernel that computes 32 columns
// then reads memory in one straight line. The last panel is filled up with zeros.
type Matrix struct {
	// In is the length of x and Out the length of y.
	In, Out int
	format  Format
	data    []byte
	scales  []float32 // one a column, for Int8
}

// MatrixSize returns the bytes of a region that NewMatrix takes.
func MatrixSize(in, out int, format Format) int {
	size := RegionBytes[byte](stored(in, format) * panels(out) * PanelWidth * format.Bytes())
	if format == Int8 {
		size += RegionBytes[float32](panels(out) * PanelWidth)
	}
	return size
}

// stored returns the rows of weights that a panel has: kernels may take 16-bit and 8-bit weights in
// pairs of rows, and the last row may be zeros.
func stored(in int, format Format) int {
	if format == F32 {
		return in
	}
	return (in + 1) &^ 1
}

func panels(columns int) int { return (columns + PanelWidth - 1) / PanelWidth }

// NewMatrix packs a matrix into memory of r. at returns the weight from input i to output j, 0 ≤ i
// < in, 0 ≤ j < out.
func NewMatrix(r *Region, in, out int, format Format, at func(i, j int) float32) Matrix {
	m := Matrix{In: in, Out: out, format: format}
	m.data = Take[byte](r, stored(in, format)*panels(out)*PanelWidth*format.Bytes())
	if format == Int8 {
		m.scales = Take[float32](r, panels(out)*PanelWidth)
	}
	for p := range panels(out) {
		m.packPanel(p, at)
	}
	return m
}

// packPanel stores the weights of the outputs of panel p.
func (m *Matrix) packPanel(p int, at func(i, j int) float32) {
	base := p * PanelWidth
	width := min(PanelWidth, m.Out-base)
	start := unsafe.Pointer(&m.data[base*stored(m.In, m.format)*m.format.Bytes()])
	switch m.format {
	case F32:
		rows := unsafe.Slice((*[PanelWidth]float32)(start), m.In)
		for i := range rows {
			for j := range width {
				rows[i][j] = at(i, base+j)
			}
		}
	case BF16:
		rows := unsafe.Slice((*[PanelWidth]uint16)(start), m.In)
		for i := range rows {
			for j := range width {
				rows[i][j] = bfloat16(at(i, base+j))
			}
		}
	case Int8:
		for j := range width {
			m.scales[base+j] = largest(m.In, func(i int) float32 { return at(i, base+j) }) / 127
		}
		rows := unsafe.Slice((*[PanelWidth]int8)(start), m.In)
		for i := range rows {
			for j, scale := range m.scales[base : base+width] {
				if scale > 0 {
					quotient := float64(at(i, base+j) / scale)
					rows[i][j] = int8(max(-127, min(127, math.RoundToEven(quotient))))
				}
			}
		}
	}
}

// largest returns the largest magnitude of n values.
func largest(n int, at func(i int) float32) float32 {
	m := float32(0)
	for i := range n {
		m = max(m, at(i), -at(i))
	}
	return m
}

// bfloat16 rounds to the nearest bfloat16, ties to even. f is finite.
func bfloat16(f float32) uint16 {
	bits := math.Float32bits(f)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Panels returns the number of panels.
func (m *Matrix) Panels() int { return panels(m.Out) }

// Bytes returns the bytes that a product reads: panels and scales.
func (m *Matrix) Bytes() int { return len(m.data) + 4*len(m.scales) }

// depth is the number of rows of weights used for all rows of x before the next: 32 KiB of float32
// panel stay in the L1 cache.
const depth = 256

// MulAdd adds x·W to y for the columns of panels first ≤ p < last. x was prepared by this set for
// m. y has the same number of rows, ldy apart, of Panels·PanelWidth columns. Each element is summed
// in the same order whatever the number of rows is.
func (s *Set) MulAdd(y []float32, ldy int, x *Operand, m *Matrix, first, last int) {
	checkRows(len(y), ldy, last*PanelWidth, x.rows)
	if first < 0 || first > last || last > m.Panels() {
		panic(fmt.Sprintf("kernels: panels %d to %d of %d", first, last, m.Panels()))
	}
	if x.columns != m.In || (s.round[m.format] != nil) != (len(x.halves) > 0) {
		panic("kernels: the operand was prepared for another matrix or set")
	}
	size, height := m.format.Bytes(), stored(m.In, m.format)
	for k := 0; k < m.In; k += depth {
		n := min(depth, m.In-k)
		a, lda, units := x.at(k)
		for p := first; p < last; p++ {
			var scales *float32
			if m.format == Int8 {
				scales = &m.scales[p*PanelWidth]
			}
			panel := unsafe.Pointer(&m.data[(p*height+k)*PanelWidth*size])
			s.mulPanel(m.format, &y[p*PanelWidth], ldy, a, lda, panel, n, x.rows, scales, units)
		}
	}
}
