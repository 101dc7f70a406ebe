// Package gpt2 computes GPT-2 (Radford et al. 2019): it loads the weights as Hugging Face publishes
// them, packs them for the kernels, and runs forward passes over batches of sequences whose keys
// and values lie in a paged cache.
package gpt2

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// Model holds packed weights. It is not changed after loading and may be shared by several runners.
type Model struct {
	Config Config
	// KVHeads is the number of key and value heads: Config.Heads, or fewer where heads were merged.
	KVHeads int
	// Format is the storage format of the matrices.
	Format kernels.Format

	region    *kernels.Region
	tokens    []float32 // embedding, [Vocab][Width]
	positions []float32 // [Context][Width]
	layers    []layer
	norm      norm
	head      linear
}

// layer is one transformer block.
type layer struct {
	norm1, norm2       norm
	qkv, out, up, down linear
	scale              float32 // of attention scores
}

// norm is a LayerNorm.
type norm struct{ weight, bias []float32 }

// linear is y = x·W + b; bias is empty in the output head, and otherwise filled up to whole panels.
type linear struct {
	weight kernels.Matrix
	bias   []float32
}

// Options says how weights are held.
type Options struct {
	// Format is the number format of the matrices.
	Format kernels.Format
	// KVHeads merges the key and value heads into this many, a divisor of the number of heads; 1
	// gives multi-query and others grouped-query attention. 0 keeps every head.
	KVHeads int
}

// Load reads config.json and model.safetensors in dir.
func Load(dir string, o Options) (*Model, error) {
	c, err := ReadConfig(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	if o.KVHeads == 0 {
		o.KVHeads = c.Heads
	}
	if o.KVHeads < 0 || o.KVHeads > c.Heads || c.Heads%o.KVHeads != 0 {
		return nil, fmt.Errorf(
			"%d key and value heads: the number must divide the %d heads of the model", o.KVHeads,
			c.Heads)
	}
	s, err := openSource(dir, c)
	if err != nil {
		return nil, err
	}
	defer s.file.Close()
	region, err := kernels.NewRegion(regionSize(c, o))
	if err != nil {
		return nil, err
	}
	m := &Model{Config: c, KVHeads: o.KVHeads, Format: o.Format, region: region}
	if err := m.load(s); err != nil {
		region.Close()
		return nil, err
	}
	return m, nil
}

// Close frees the memory of the weights, also for the models that Keep made from this one.
func (m *Model) Close() error { return m.region.Close() }

// Keep returns a model of the given layers of m, in that order; it shares the weights. It is the
// draft of self-speculative decoding (Zhang et al. 2023, arXiv:2309.08168).
func (m *Model) Keep(layers []int) (*Model, error) {
	if len(layers) == 0 {
		return nil, errors.New("a model needs at least one layer")
	}
	kept := *m
	kept.layers = nil
	for _, i := range layers {
		if i < 0 || i >= len(m.layers) {
			return nil, fmt.Errorf("layer %d of a model with layers 0 to %d", i, len(m.layers)-1)
		}
		kept.layers = append(kept.layers, m.layers[i])
	}
	kept.Config.Layers = len(layers)
	return &kept, nil
}

// WeightBytes returns the bytes that a decode step reads: every matrix and bias once.
func (m *Model) WeightBytes() int64 {
	total := 0
	for i := range m.layers {
		l := &m.layers[i]
		for _, part := range []*linear{&l.qkv, &l.out, &l.up, &l.down} {
			total += part.weight.Bytes() + 4*len(part.bias)
		}
	}
	return int64(total + m.head.weight.Bytes())
}

// KVBytes returns the bytes of keys and values of one token, as the cache holds them (head sizes
// filled up to whole panels).
func (m *Model) KVBytes() int64 {
	return int64(len(m.layers) * m.KVHeads * 4 * (m.Config.HeadSize() +
		roundUp(m.Config.HeadSize())))
}

// MatrixFLOPs returns the floating-point operations of the matrix products of one token: in the
// layers, and in the head.
func (m *Model) MatrixFLOPs() (layers, head int64) {
	for i := range m.layers {
		l := &m.layers[i]
		for _, part := range []*linear{&l.qkv, &l.out, &l.up, &l.down} {
			layers += 2 * int64(part.weight.In) * int64(part.weight.Out)
		}
	}
	return layers, 2 * int64(m.head.weight.In) * int64(m.head.weight.Out)
}

// roundUp returns the number of columns of the whole panels that hold n.
func roundUp(n int) int {
	return (n + kernels.PanelWidth - 1) / kernels.PanelWidth * kernels.PanelWidth
}
