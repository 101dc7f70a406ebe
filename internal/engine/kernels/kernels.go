// Package kernels holds the inner loops of the engine: matrix products with packed weights, and the
// element-wise functions between them. Each exists in plain Go and in Go assembly for AVX2;
// products also for AVX-512 and NEON. A Pool runs them on several cores, and a Region is memory in
// huge pages for what they read.
package kernels

import (
	"fmt"
	"math"
	"unsafe"
)

// PanelWidth is the number of columns of a weight panel, and of tokens of a KV block: the
// micro-kernels compute this number of columns of the result at once.
const PanelWidth = 32

// Format is the number format in which weights are held in memory. Sums are always float32.
type Format uint8

// The formats of weights.
const (
	// F32 keeps weights as they are.
	F32 Format = iota
	// BF16 rounds weights to bfloat16, half the bytes.
	BF16
	// Int8 rounds weights to 8-bit integers with one float32 scale a column (symmetric), a
	// quarter of the bytes.
	Int8
)

// ParseFormat returns the format called fp32, bf16 or int8.
func ParseFormat(name string) (Format, error) {
	for f := F32; f <= Int8; f++ {
		if name == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown weight format %q: fp32, bf16 and int8 are known", name)
}

// String returns the name that ParseFormat takes.
func (f Format) String() string { return [...]string{"fp32", "bf16", "int8"}[f] }

// Bytes returns the size of one weight.
func (f Format) Bytes() int { return [...]int{4, 2, 1}[f] }

// Set is one implementation of all kernels. Different sets differ in rounding; within a set a row's
// result does not depend on the rows that are computed beside it.
type Set struct {
	// Name is "avx512-pairs" (AVX-512 with VNNI and BF16), "avx512", "avx2", "neon" or "go".
	Name string
	// maxRows is the most rows that a micro-kernel takes, width the number of columns (PanelWidth
	// or half of it) that it computes.
	maxRows, width int
	gemm           [3]gemmFunc
	// round makes 16-bit numbers of the left sides of products, by format. It is nil where these
	// stay float32.
	round       [3]roundFunc
	gelu        func(x *float32, n int)
	scale       func(x *float32, n int, f float32)
	sum         func(x *float32, n int) float32
	squares     func(x *float32, n int, mean float32) float32
	standardise func(dst, x, weight, bias *float32, n int, mean, inverse float32)
	read        func(x *float32, n int) float32
	softmax     func(scores *float32, rows, visible, step int, scale float32, max, sum,
		correction *float32)
}

// gemmFunc adds a·b to dst for rows rows of a (k elements, lda apart) and of dst (ldd apart). An
// element of a is a float32, or a pair of 16-bit numbers where the set has a roundFunc for the
// format. b is a half or whole panel: k rows of weights, or 2k, PanelWidth apart. scales points to
// the columns' scales where the format has them, and units to the scales of the rows of a.
//
// It prefetches from ahead, advancing by stride bytes with each row of weights.
type gemmFunc func(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, ahead uintptr, stride int, units *float32)

// roundFunc sets dst to 16-bit numbers for x, which has the same length, at most depth, and returns
// the value of a number of 1.
type roundFunc func(dst []uint16, x []float32) float32

// Best returns the fastest set for this machine, the last of Available.
func Best() *Set {
	sets := Available()
	return sets[len(sets)-1]
}

// Available returns the sets that run on this machine, the pure Go one first and the fastest last.
func Available() []*Set { return append([]*Set{portable()}, native()...) }

// Read sums x as fast as memory delivers it, to measure that. The length must be a multiple of 32.
func (s *Set) Read(x []float32) float32 {
	if len(x) == 0 {
		return 0
	}
	return s.read(&x[0], len(x))
}

// MaxRows returns the number of rows of MulPanel at which the kernel is fastest.
func (s *Set) MaxRows() int { return s.maxRows }

// MulPanel adds a·b to dst: rows rows of a, lda elements apart and k long; b one panel of k rows of
// PanelWidth float32; dst rows of PanelWidth, ldd apart.
func (s *Set) MulPanel(dst []float32, ldd int, a []float32, lda int, b []float32, k, rows int) {
	checkRows(len(dst), ldd, PanelWidth, rows)
	checkRows(len(a), lda, k, rows)
	_ = b[k*PanelWidth-1]
	s.mulPanel(F32, &dst[0], ldd, &a[0], lda, unsafe.Pointer(&b[0]), k, rows, nil, nil)
}

// distance returns how far ahead of its reading a kernel prefetches when each weight is read once,
// in bytes: the more it computes in between, the farther (measured on a Zen 5 server, 1 to 12 rows,
// against 1 to 32 KiB).
func distance(rows int) int {
	if rows <= 4 {
		return 2 << 10
	}
	return 8 << 10
}

// mulPanel calls the micro-kernel for groups of rows of nearly equal size. Weights come from memory
// for the first group and from the cache for the others; so that memory is busy all the time, each
// group prefetches its share of the weights that follow these k rows.
func (s *Set) mulPanel(f Format, dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k,
	rows int, scales, units *float32) {
	rowBytes := PanelWidth * f.Bytes()
	groups := (rows + s.maxRows - 1) / s.maxRows
	stride, ahead, share := rowBytes, distance(rows), 0
	if groups > 1 {
		stride, ahead, share = rowBytes/groups, k*rowBytes, k*rowBytes/groups
	}
	elements := k
	if s.round[f] != nil {
		elements = (k + 1) / 2
	}
	for done := 0; groups > 0; groups-- {
		n := (rows - done + groups - 1) / groups
		to, from, rowUnits := offset(dst, done*ldd), offset(a, done*lda), units
		if units != nil {
			rowUnits = offset(units, done)
		}
		for column := 0; column < PanelWidth; column += s.width {
			half := scales
			if scales != nil {
				half = offset(scales, column)
			}
			s.gemm[f](offset(to, column), ldd, from, lda, unsafe.Add(b, column*f.Bytes()),
				elements, n, half, later(b, ahead), stride, rowUnits)
		}
		done += n
		ahead += share
	}
}

// later returns an address for prefetching only: it may lie beyond the memory that p points into.
func later(p unsafe.Pointer, n int) uintptr { return uintptr(p) + uintptr(n) }

// checkRows panics unless a slice of n elements holds rows rows of width elements, stride apart:
// the assembly does not check.
func checkRows(n, stride, width, rows int) {
	if rows < 1 || width < 1 || n < (rows-1)*stride+width {
		panic(fmt.Sprintf("kernels: %d rows of %d elements, %d apart, in a slice of %d", rows,
			width, stride, n))
	}
}

func offset(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n)) }

// GELU replaces x by its Gaussian error linear unit in the tanh form of GPT-2, x/2·(1 +
// tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2). The
// length must be a multiple of 8.
func (s *Set) GELU(x []float32) {
	if len(x) > 0 {
		s.gelu(&x[0], len(x))
	}
}

// Scale multiplies x by f. The length must be a multiple of 8.
func (s *Set) Scale(x []float32, f float32) {
	if len(x) > 0 {
		s.scale(&x[0], len(x), f)
	}
}

// LayerNorm sets dst to (x − mean)/√(variance + epsilon)·weight + bias (Ba et al. 2016,
// arXiv:1607.06450). All have the length of x, at least 1.
func (s *Set) LayerNorm(dst, x, weight, bias []float32, epsilon float32) {
	n := len(x)
	dst, weight, bias = dst[:n], weight[:n], bias[:n]
	whole := n &^ 7 // the kernels take eight elements at a time
	sum := s.sum(&x[0], whole)
	for _, v := range x[whole:] {
		sum += v
	}
	mean := sum / float32(n)
	squares := s.squares(&x[0], whole, mean)
	for _, v := range x[whole:] {
		squares += (v - mean) * (v - mean)
	}
	inverse := float32(1 / math.Sqrt(float64(squares/float32(n)+epsilon)))
	s.standardise(&dst[0], &x[0], &weight[0], &bias[0], whole, mean, inverse)
	for i := whole; i < n; i++ {
		dst[i] = (x[i]-mean)*inverse*weight[i] + bias[i]
	}
}

// Softmax is the state of an online softmax (Milakov and Gimelshein 2018, arXiv:1805.02867,
// algorithm 3) for up to len(Max) rows: the largest scaled score so far and the sum of exponentials
// relative to it.
type Softmax struct {
	Max, Sum []float32
	// Correction is by how much Update scaled down what was summed before.
	Correction []float32
}

// NewSoftmax returns a state for the given number of rows.
func NewSoftmax(rows int) Softmax {
	return Softmax{make([]float32, rows), make([]float32, rows), make([]float32, rows)}
}

// Reset starts over with no score seen.
func (m *Softmax) Reset() {
	for i := range m.Max {
		m.Max[i], m.Sum[i] = lowest, 0
	}
}

// lowest replaces minus infinity, whose differences would be NaN.
const lowest = -1e30

// Update takes the scores of the next PanelWidth keys for each of rows rows (PanelWidth apart),
// replaces them by exp(scale·score − maximum so far) and brings the state up to date. Row i sees
// the first visible + i·step keys; the weights of hidden keys become 0.
func (s *Set) Update(m *Softmax, scores []float32, rows, visible, step int, scale float32) {
	checkRows(len(scores), PanelWidth, PanelWidth, rows)
	_, _, _ = m.Max[rows-1], m.Sum[rows-1], m.Correction[rows-1]
	s.softmax(&scores[0], rows, visible, step, scale, &m.Max[0], &m.Sum[0], &m.Correction[0])
}
