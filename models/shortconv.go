package models

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
)

// ShortConvolution is a gated causal convolution over the last few tokens in place of attention
// (Liquid AI, LFM2 technical report, arXiv:2511.23404, section 2): a projection to three vectors,
// of which one gates what goes in and one what comes out.
type ShortConvolution struct {
	// Width is the number of channels. Conv is the number of tokens that the convolution sees, 1 at
	// least; it keeps Conv−1 inputs.
	Width, Conv int
	// Bias reports whether projections and convolution have biases.
	Bias bool
}

var _ Mixer = (*ShortConvolution)(nil)

// linears implements part; channels are split.
func (m *ShortConvolution) linears(hidden, tp int) []Linear {
	width := split(m.Width, tp)
	return []Linear{
		{Name: "in_proj", N: 3 * width, K: hidden, Part: AttentionPart, Quantised: true},
		{Name: "out", N: hidden, K: width, Part: AttentionPart, Quantised: true},
	}
}

func (m *ShortConvolution) nonMatrix(hidden int, _ expertShare) nonMatrixParameters {
	p := nonMatrixParameters{Biases: product(m.Width, m.Conv)}
	if m.Bias {
		p.Biases += product(4, m.Width) + int64(hidden)
	}
	return p
}

// elementwise lists the convolution with both gates.
func (m *ShortConvolution) elementwise(_, tp int) []ElementwiseKernel {
	return []ElementwiseKernel{{Name: "conv", Elements: product(4, split(m.Width, tp))}}
}

// attention implements Mixer: no kernel but the element-wise one touches what sequences keep.
func (m *ShortConvolution) attention(int, hardware.DType) []Attention { return nil }

// state implements Mixer: the inputs that the convolution keeps, in 16 bits.
func (m *ShortConvolution) state(tp int, _ hardware.DType) []State {
	return []State{{FixedBytes: product(max(0, m.Conv-1), split(m.Width, tp), 2)}}
}

func (m *ShortConvolution) fitsTensor(tp int, model string) error {
	if m.Width%tp != 0 {
		return fmt.Errorf("does not divide the %d channels of the convolutions of %s", m.Width,
			model)
	}
	return nil
}

func (m *ShortConvolution) sizes() ([]size, error) {
	return []size{{"channels of the convolution", m.Width, 1, 1 << 17},
		{"convolution", m.Conv, 1, 64}}, nil
}
