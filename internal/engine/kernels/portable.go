package kernels

import (
	"math"
	"unsafe"
)

// portable returns the kernels in plain Go.
func portable() *Set {
	return &Set{
		Name: "go", maxRows: 12, width: PanelWidth,
		gemm: [3]gemmFunc{gemmF32, gemmBF16, gemmInt8},
		gelu: gelu, scale: scale, sum: sum, squares: squares, standardise: standardise,
		softmax: softmax, read: sum,
	}
}

func gemmF32(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, _ *float32,
	_ uintptr, _ int, _ *float32) {
	weights := unsafe.Slice((*[PanelWidth]float32)(b), k)
	for r := range rows {
		var acc [PanelWidth]float32
		for i, x := range unsafe.Slice(offset(a, r*lda), k) {
			w := &weights[i]
			for j := range acc {
				acc[j] += x * w[j]
			}
		}
		addTo(offset(dst, r*ldd), &acc)
	}
}

func gemmBF16(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int, _ *float32,
	_ uintptr, _ int, _ *float32) {
	weights := unsafe.Slice((*[PanelWidth]uint16)(b), k)
	for r := range rows {
		var acc [PanelWidth]float32
		for i, x := range unsafe.Slice(offset(a, r*lda), k) {
			w := &weights[i]
			for j := range acc {
				acc[j] += x * math.Float32frombits(uint32(w[j])<<16)
			}
		}
		addTo(offset(dst, r*ldd), &acc)
	}
}

func gemmInt8(dst *float32, ldd int, a *float32, lda int, b unsafe.Pointer, k, rows int,
	scales *float32, _ uintptr, _ int, _ *float32) {
	weights := unsafe.Slice((*[PanelWidth]int8)(b), k)
	columnScales := (*[PanelWidth]float32)(unsafe.Pointer(scales))
	for r := range rows {
		var acc [PanelWidth]float32
		for i, x := range unsafe.Slice(offset(a, r*lda), k) {
			w := &weights[i]
			for j := range acc {
				acc[j] += x * float32(w[j])
			}
		}
		for j := range acc {
			acc[j] *= columnScales[j]
		}
		addTo(offset(dst, r*ldd), &acc)
	}
}

func addTo(dst *float32, acc *[PanelWidth]float32) {
	d := (*[PanelWidth]float32)(unsafe.Pointer(dst))
	for j := range d {
		d[j] += acc[j]
	}
}

func gelu(x *float32, n int) {
	const twice = -2 * 0.7978845608028654 // −2·√(2/π)
	v := unsafe.Slice(x, n)
	for i, x := range v {
		v[i] = x / (1 + exp(twice*x*(1+0.044715*x*x)))
	}
}

func scale(x *float32, n int, f float32) {
	v := unsafe.Slice(x, n)
	for i := range v {
		v[i] *= f
	}
}

func sum(x *float32, n int) float32 {
	total := float32(0)
	for _, v := range unsafe.Slice(x, n) {
		total += v
	}
	return total
}

func squares(x *float32, n int, mean float32) float32 {
	total := float32(0)
	for _, v := range unsafe.Slice(x, n) {
		total += (v - mean) * (v - mean)
	}
	return total
}

func standardise(dst, x, weight, bias *float32, n int, mean, inverse float32) {
	out, in, w, b := unsafe.Slice(dst, n), unsafe.Slice(x, n), unsafe.Slice(weight, n),
		unsafe.Slice(bias, n)
	for i, v := range in {
		out[i] = (v-mean)*inverse*w[i] + b[i]
	}
}

func softmax(scores *float32, rows, visible, step int, scale float32, max, sum,
	correction *float32) {
	maxima, sums, corrections := unsafe.Slice(max, rows), unsafe.Slice(sum, rows),
		unsafe.Slice(correction, rows)
	for r := range rows {
		row := unsafe.Slice(offset(scores, r*PanelWidth), PanelWidth)
		softmaxRow(row, clamp(visible+r*step), scale, &maxima[r], &sums[r], &corrections[r])
	}
}

// clamp limits a number of visible keys to a panel's.
func clamp(visible int) int { return min(max(visible, 0), PanelWidth) }

func softmaxRow(row []float32, visible int, scale float32, largest, sum, correction *float32) {
	before := *largest
	for _, s := range row[:visible] {
		*largest = max(*largest, s*scale)
	}
	total := float32(0)
	for i, s := range row[:visible] {
		row[i] = exp(s*scale - *largest)
		total += row[i]
	}
	clear(row[visible:])
	*correction = exp(before - *largest)
	*sum = *sum**correction + total
}

// exp has the range of the assembly: arguments are limited to [-87, 88].
func exp(x float32) float32 { return float32(math.Exp(float64(min(max(x, -87), 88)))) }
