package models

import "fmt"

// Validate reports the first figure that makes no sense: a size outside its range (see sizes), query heads that KV heads do
// not divide, or parts that are larger than the whole.
func (a *Architecture) Validate() error {
	for _, s := range a.sizes() {
		if s.value < s.least || s.value > s.most {
			return fmt.Errorf("%s: found %d, want %d to %d", s.name, s.value, s.least, s.most)
		}
	}
	if a.Heads%a.KVHeads != 0 {
		return fmt.Errorf("KV heads: found %d, want a divisor of the %d query heads", a.KVHeads, a.Heads)
	}
	if a.WindowLayers > a.Layers {
		return fmt.Errorf("window layers: found %d, want at most the %d layers", a.WindowLayers, a.Layers)
	}
	if m := a.MoE; m != nil {
		if m.Active > m.Experts {
			return fmt.Errorf("active experts: found %d, want at most the %d experts", m.Active, m.Experts)
		}
		if m.DenseLayers > a.Layers {
			return fmt.Errorf("dense layers: found %d, want at most the %d layers", m.DenseLayers, a.Layers)
		}
	}
	return nil
}

// size is a figure of an architecture with its range.
type size struct {
	name               string
	value, least, most int
}

// sizes lists the figures that are checked. The ranges are far wider than any model that exists, and narrow enough that no
// count of parameters or bytes overflows 64 bits.
func (a *Architecture) sizes() []size {
	dense := 0
	if a.denseLayers() > 0 {
		dense = 1
	}
	ss := []size{
		{"layers", a.Layers, 1, 1 << 10},
		{"hidden size", a.Hidden, 1, 1 << 17},
		{"heads", a.Heads, 1, 1 << 11},
		{"KV heads", a.KVHeads, 1, 1 << 11},
		{"head dimension", a.HeadDim, 1, 1 << 11},
		{"intermediate size", a.Intermediate, dense, 1 << 20},
		{"vocabulary", a.Vocab, 1, 1 << 24},
		{"longest context", a.MaxContext, 1, 1 << 30},
		{"window", a.Window, 0, 1 << 30},
		{"window layers", a.WindowLayers, 0, 1 << 10},
		{"learned positions", a.LearnedPositions, 0, 1 << 24},
		{"embedding width", a.EmbeddingDim, 0, 1 << 17},
		{"norms a layer", a.NormsPerLayer, 0, 8},
	}
	if m := a.MLA; m != nil {
		ss = append(ss,
			size{"query rank", m.QueryRank, 0, 1 << 17},
			size{"KV rank", m.KVRank, 1, 1 << 17},
			size{"rotary head dimension", m.RopeDim, 0, 1 << 11},
			size{"non-rotary head dimension", m.NopeDim, 1, 1 << 11},
			size{"value head dimension", m.ValueDim, 1, 1 << 11})
	}
	if m := a.MoE; m != nil {
		ss = append(ss,
			size{"experts", m.Experts, 1, 1 << 11},
			size{"active experts", m.Active, 1, 1 << 11},
			size{"shared experts", m.Shared, 0, 1 << 11},
			size{"expert size", m.Intermediate, 1, 1 << 20},
			size{"shared expert size", m.SharedIntermediate, 0, 1 << 20},
			size{"dense layers", m.DenseLayers, 0, 1 << 10})
	}
	return ss
}
