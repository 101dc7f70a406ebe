package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// eachSet runs a test with every implementation that this machine can run.
func eachSet(t *testing.T, test func(t *testing.T, s *Set)) {
	for _, s := range Available() {
		t.Run(s.Name, func(t *testing.T) { test(t, s) })
	}
}

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// stored returns the weight that the matrix really holds, as float64.
func (m *Matrix) stored(i, j int) float64 {
	at := (j/PanelWidth*stored(m.In, m.format)+i)*PanelWidth + j%PanelWidth
	p := unsafe.Pointer(unsafe.SliceData(m.data))
	switch m.format {
	case F32:
		return float64(*(*float32)(unsafe.Add(p, 4*at)))
	case BF16:
		return float64(math.Float32frombits(uint32(*(*uint16)(unsafe.Add(p, 2*at))) << 16))
	}
	return float64(*(*int8)(unsafe.Add(p, at))) * float64(m.scales[j])
}

// value returns what the kernels take for the element of an operand, as float64.
func (o *Operand) value(r, i int, f Format) float64 {
	if len(o.halves) == 0 {
		return float64(o.x[r*o.ldx+i])
	}
	half := o.halves[r*o.ldh+i]
	if f == BF16 {
		return float64(math.Float32frombits(uint32(half) << 16))
	}
	return float64(int16(half)) * float64(o.units[i/depth*o.rows+r])
}

// rounding returns by how much value may differ from the exact element: half a unit in the last
// place.
func (o *Operand) rounding(r, i int, exact float64, f Format) float64 {
	switch {
	case len(o.halves) == 0:
		return 0
	case f == BF16:
		return math.Abs(exact) / 256
	}
	return float64(o.units[i/depth*o.rows+r]) * 0.51 // with the rounding of float32 products
}

// prepared returns an operand of x.
func prepared(s *Set, x []float32, ldx, rows int, m *Matrix) *Operand {
	o := &Operand{}
	s.Prepare(o, x, ldx, rows, m)
	return o
}

func newMatrix(t testing.TB, in, out int, format Format, w []float32) Matrix {
	region, err := NewRegion(MatrixSize(in, out, format))
	testkit.OK(t, err)
	t.Cleanup(func() { region.Close() })
	return NewMatrix(region, in, out, format, func(i, j int) float32 { return w[i*out+j] })
}

// TestMulAdd compares products of any shape and format with a float64 sum over the weights as
// stored, and checks that a row's result is the same bits with or without other rows beside it, and
// that nothing outside the panels is written.
func TestMulAdd(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set) {
		rapid.Check(t, func(rt *rapid.T) {
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			in, out := rapid.IntRange(1, 600).Draw(rt, "in"), rapid.IntRange(1, 100).Draw(rt, "out")
			rows := rapid.IntRange(1, 30).Draw(rt, "rows")
			format := Format(rapid.IntRange(0, 2).Draw(rt, "format"))
			m := newMatrix(t, in, out, format, normals(rng, in*out))
			first := rapid.IntRange(0, m.Panels()-1).Draw(rt, "first")
			last := rapid.IntRange(first+1, m.Panels()).Draw(rt, "last")
			ldx, ldy := in+rapid.IntRange(0, 5).Draw(rt, "pad x"), m.Panels()*PanelWidth+
				rapid.IntRange(0, 5).Draw(rt, "pad y")
			x, before := normals(rng, rows*ldx), normals(rng, rows*ldy)
			y := append([]float32(nil), before...)
			operand := prepared(s, x, ldx, rows, &m)
			s.MulAdd(y, ldy, operand, &m, first, last)
			for r := range rows {
				for j := range ldy {
					want, magnitude := float64(before[r*ldy+j]), 1.0
					if j >= first*PanelWidth && j < min(last*PanelWidth, out) {
						for i := range in {
							v := operand.value(r, i, format)
							if exact := float64(x[r*ldx+i]); math.Abs(v-exact) >
								operand.rounding(r, i, exact, format) {
								rt.Fatalf("x[%d][%d] = %v is taken for %v", r, i, exact, v)
							}
							p := v * m.stored(i, j)
							want += p
							magnitude += math.Abs(p)
						}
					}
					if got := float64(y[r*ldy+j]); math.Abs(got-want) > 1e-6*magnitude {
						rt.Fatalf("y[%d][%d] = %v, want %v", r, j, got, want)
					}
				}
			}
			r := rapid.IntRange(0, rows-1).Draw(rt, "row")
			alone := append([]float32(nil), before[r*ldy:(r+1)*ldy]...)
			s.MulAdd(alone, ldy, prepared(s, x[r*ldx:], ldx, 1, &m), &m, first, last)
			for j := range alone {
				if math.Float32bits(alone[j]) != math.Float32bits(y[r*ldy+j]) {
					rt.Fatalf("row %d alone: y[%d] = %v, with others %v", r, j, alone[j],
						y[r*ldy+j])
				}
			}
		})
	})
}

// TestRoundingOfWeights bounds the error of the compressed formats: half a unit in the last place.
func TestRoundingOfWeights(t *testing.T) {
	const in, out = 50, 40
	w := normals(rand.New(rand.NewPCG(1, 2)), in*out)
	for i := range in {
		w[i*out+3] = 0 // a column of zeros has no scale
	}
	for _, format := range []Format{F32, BF16, Int8} {
		m := newMatrix(t, in, out, format, w)
		for i := range in {
			for j := range out {
				want := float64(w[i*out+j])
				bound := map[Format]float64{F32: 0, BF16: math.Abs(want) / 256}[format]
				if format == Int8 {
					bound = float64(m.scales[j]) * 0.5001
				}
				if got := m.stored(i, j); math.Abs(got-want) > bound {
					t.Fatalf("%v: weight [%d][%d] = %v, want %v ± %v", format, i, j, got, want,
						bound)
				}
			}
		}
	}
}

func TestGELU(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set) {
		x := make([]float32, 4096)
		for i := range x {
			x[i] = float32(i-2048) / 128
		}
		x[0], x[1], x[2] = 1e10, -1e10, float32(math.NaN())
		got := append([]float32(nil), x...)
		s.GELU(got)
		for i, v := range x {
			f := float64(v)
			want := f / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(f+0.044715*f*f*f)))
			if diff := math.Abs(float64(got[i]) - want); !(diff <= 1e-6*math.Max(1, math.Abs(f))) &&
				!math.IsNaN(want) {
				t.Errorf("GELU(%v) = %v, want %v", v, got[i], want)
			}
		}
		if got[2] == got[2] {
			t.Errorf("GELU(NaN) = %v", got[2])
		}
	})
}

func TestLayerNorm(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, n := range []int{1, 5, 8, 20, 64, 100, 768} {
			x, w, b, got := normals(rng, n), normals(rng, n), normals(rng, n), make([]float32, n)
			s.LayerNorm(got, x, w, b, 1e-5)
			mean, variance := 0.0, 0.0
			for _, v := range x {
				mean += float64(v) / float64(n)
			}
			for _, v := range x {
				variance += (float64(v) - mean) * (float64(v) - mean) / float64(n)
			}
			for i, v := range x {
				want := (float64(v)-mean)/math.Sqrt(variance+1e-5)*float64(w[i]) + float64(b[i])
				if math.Abs(float64(got[i])-want) > 1e-5 {
					t.Errorf("width %d: element %d = %v, want %v", n, i, got[i], want)
				}
			}
		}
	})
}

// TestOnlineSoftmax feeds rows of scores panel by panel and compares with the softmax of the whole
// row.
func TestOnlineSoftmax(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set) {
		rapid.Check(t, func(rt *rapid.T) {
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			rows, keys := rapid.IntRange(1, 12).Draw(rt, "rows"), rapid.IntRange(1, 100).Draw(rt,
				"keys")
			step := rapid.IntRange(0, 1).Draw(rt, "step")
			visible := rapid.IntRange(1, keys).Draw(rt, "visible")
			factor := rapid.Float32Range(0.01, 20).Draw(rt, "scale")
			scores := normals(rng, rows*keys)
			state := NewSoftmax(rows)
			state.Reset()
			got := make([][]float64, rows)
			tile := make([]float32, rows*PanelWidth)
			for first := 0; first < keys; first += PanelWidth {
				width := min(PanelWidth, keys-first)
				for r := range rows {
					copy(tile[r*PanelWidth:], scores[r*keys+first:r*keys+first+width])
				}
				s.Update(&state, tile, rows, min(visible, keys-step*rows)-first, step, factor)
				for r := range rows {
					for i := range got[r] {
						got[r][i] *= float64(state.Correction[r])
					}
					for _, p := range tile[r*PanelWidth : r*PanelWidth+width] {
						got[r] = append(got[r], float64(p))
					}
				}
			}
			for r := range rows {
				checkSoftmax(rt, got[r], scores[r*keys:(r+1)*keys], min(visible, keys-step*rows)+
					r*step, factor, float64(state.Sum[r]))
			}
		})
	})
}

func checkSoftmax(t *rapid.T, got []float64, scores []float32, visible int, factor float32,
	sum float64) {
	largest := math.Inf(-1)
	for i := range max(visible, 0) {
		largest = math.Max(largest, float64(scores[i]*factor))
	}
	want := 0.0
	for i := range max(visible, 0) {
		want += math.Exp(float64(scores[i]*factor) - largest)
	}
	for i := range got {
		p := 0.0
		if i < visible {
			p = math.Exp(float64(scores[i]*factor)-largest) / want
		}
		if sum > 0 && math.Abs(got[i]/sum-p) > 1e-5 {
			t.Fatalf("weight of key %d of %d is %v, want %v", i, visible, got[i]/sum, p)
		}
	}
	if math.Abs(sum-want) > 1e-4*want {
		t.Fatalf("sum of exponentials %v, want %v", sum, want)
	}
}

func TestRead(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set) {
		for _, n := range []int{0, 32, 320} {
			x := make([]float32, n+1)
			want := float32(0)
			for i := range x {
				x[i] = float32(i)
			}
			for _, v := range x[:n] {
				want += v
			}
			if got := s.Read(x[:n]); got != want {
				t.Errorf("sum of %d elements is %v, want %v", n, got, want)
			}
		}
	})
}

// TestBoundsArePanics checks that slices too short for the assembly never reach it.
func TestBoundsArePanics(t *testing.T) {
	m := newMatrix(t, 10, 40, F32, make([]float32, 400))
	long := make([]float32, 1000)
	add := func(s *Set, y []float32, ldy int, x []float32, rows, first, last int) {
		s.MulAdd(y, ldy, prepared(s, x, 10, rows, &m), &m, first, last)
	}
	for name, call := range map[string]func(s *Set){
		"short y":  func(s *Set) { add(s, long[:127], 64, long, 2, 0, 2) },
		"short x":  func(s *Set) { add(s, long, 64, long[:19], 2, 0, 2) },
		"panel":    func(s *Set) { add(s, long, 128, long, 2, 0, 3) },
		"short b":  func(s *Set) { s.MulPanel(long, 32, long, 10, long[:10*PanelWidth-1], 10, 1) },
		"no rows":  func(s *Set) { add(s, long, 64, long, 0, 0, 2) },
		"softmax":  func(s *Set) { st := NewSoftmax(2); s.Update(&st, long, 3, 1, 1, 1) },
		"negative": func(s *Set) { add(s, long, 64, long, 1, -1, 2) },
	} {
		eachSet(t, func(t *testing.T, s *Set) {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call(s)
		})
	}
}
