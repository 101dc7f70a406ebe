package gpt2

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// qkvWidth returns the number of outputs of the first attention matrix: queries, then keys, then
// values.
func qkvWidth(c Config, kvHeads int) int { return c.Width + 2*kvHeads*c.HeadSize() }

// regionSize returns the memory that all weights of a model take.
func regionSize(c Config, o Options) int {
	vector := kernels.RegionBytes[float32]
	matrix := func(in, out int) int {
		return kernels.MatrixSize(in, out, o.Format) + vector(roundUp(out))
	}
	block := 4*vector(c.Width) + matrix(c.Width, qkvWidth(c, o.KVHeads)) +
		matrix(c.Width, c.Width) + matrix(c.Width, c.Inner) + matrix(c.Inner, c.Width)
	return vector(c.Vocab*c.Width) + vector(c.Context*c.Width) + c.Layers*block +
		2*vector(c.Width) + kernels.MatrixSize(c.Width, c.Vocab, o.Format)
}

// load reads and packs every tensor.
func (m *Model) load(s *source) error {
	l := loader{model: m, source: s}
	c := m.Config
	m.tokens = l.vector("wte.weight")
	m.positions = l.vector("wpe.weight")
	m.layers = make([]layer, c.Layers)
	for i := range m.layers {
		name := fmt.Sprintf("h.%d.", i)
		m.layers[i] = layer{
			norm1: l.norm(name + "ln_1"),
			qkv:   l.attention(name + "attn.c_attn"),
			out:   l.linear(name+"attn.c_proj", c.Width, c.Width),
			norm2: l.norm(name + "ln_2"),
			up:    l.linear(name+"mlp.c_fc", c.Width, c.Inner),
			down:  l.linear(name+"mlp.c_proj", c.Inner, c.Width),
			scale: attentionScale(c, i),
		}
	}
	m.norm = l.norm("ln_f")
	head := m.tokens
	if !c.Tied {
		head = l.read("lm_head.weight")
	}
	if l.err != nil {
		return l.err
	}
	m.head.weight = kernels.NewMatrix(m.region, c.Width, c.Vocab, m.Format,
		func(i, j int) float32 { return head[j*c.Width+i] })
	return nil
}

// loader reads tensors until the first error.
type loader struct {
	model  *Model
	source *source
	err    error
}

// read returns the values of a tensor, or nil after an error.
func (l *loader) read(name string) []float32 {
	if l.err != nil {
		return nil
	}
	values, err := l.source.read(name)
	l.err = err
	return values
}

func (l *loader) vector(name string) []float32 {
	values := l.read(name)
	v := kernels.Take[float32](l.model.region, len(values))
	copy(v, values)
	return v
}

func (l *loader) norm(name string) norm {
	return norm{weight: l.vector(name + ".weight"), bias: l.vector(name + ".bias")}
}

// linear packs a matrix and its bias.
func (l *loader) linear(name string, in, out int) linear {
	weight, bias := l.read(name+".weight"), l.read(name+".bias")
	if l.err != nil {
		return linear{}
	}
	return l.pack(in, out, func(i, j int) float32 { return weight[i*out+j] },
		func(j int) float32 { return bias[j] })
}

// attention packs the matrix of queries, keys and values. Where heads are merged, the key (value)
// head of a group is the mean of its heads (Ainslie et al. 2023, arXiv:2305.13245, section 2.1).
func (l *loader) attention(name string) linear {
	weight, bias := l.read(name+".weight"), l.read(name+".bias")
	if l.err != nil {
		return linear{}
	}
	c, kvHeads := l.model.Config, l.model.KVHeads
	size, group := c.HeadSize(), c.Heads/kvHeads
	// merged averages, over the heads of j's group, the row of the three parts of the published
	// matrix.
	merged := func(row []float32, j int) float32 {
		if j < c.Width || group == 1 {
			return row[j]
		}
		part, within := (j-c.Width)/(kvHeads*size), (j-c.Width)%(kvHeads*size)
		first := c.Width*(1+part) + within/size*group*size + within%size
		sum := float32(0)
		for h := range group {
			sum += row[first+h*size]
		}
		return sum / float32(group)
	}
	return l.pack(c.Width, qkvWidth(c, kvHeads),
		func(i, j int) float32 { return merged(weight[i*3*c.Width:(i+1)*3*c.Width], j) },
		func(j int) float32 { return merged(bias, j) })
}

func (l *loader) pack(in, out int, weight func(i, j int) float32, bias func(j int) float32) linear {
	m := l.model
	packed := linear{
		weight: kernels.NewMatrix(m.region, in, out, m.Format, weight),
		bias:   kernels.Take[float32](m.region, roundUp(out)),
	}
	for j := range out {
		packed.bias[j] = bias(j)
	}
	return packed
}
