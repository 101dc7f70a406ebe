package models

import "github.com/llmsim/llmsim/hardware"

// Shard is the part of a quantised matrix that one accelerator holds, along the dimension that is
// split.
type Shard struct {
	// Name names the linear layer. A merged matrix, such as gate and up, has a shard of each.
	Name string
	// Size is the number of outputs or inputs of the part.
	Size   int
	Format Format
}

// Shards returns the shards of the quantised matrices under tensor parallelism tp, with weights
// stored as d. The intermediate vector of each routed expert is split over ways accelerators.
// Matrices that are whole on each accelerator are left out.
func (a *Architecture) Shards(tp, ways int, d hardware.DType) []Shard {
	var list []Shard
	add := func(l *Linear, size int) {
		list = append(list, Shard{l.Name, size, l.Format(d)})
	}
	whole, split := a.LinearLayers(1), a.LinearLayers(tp)
	for i := range split {
		l := &split[i]
		switch {
		case !l.Quantised || l.Rows == SampledRows || l.Name == "qkv":
		case l.Name == "in_ba": // gates of linear attention, which checkpoints keep wide
		case l.Rows == RoutedRows:
			if width := a.Experts().Intermediate; ways > 1 {
				add(l, width/ways)
			}
		case l.N < whole[i].N:
			parts := 1
			if l.Name == "gate_up" || l.Name == "shared_gate_up" {
				parts = 2
			}
			add(l, l.N/parts)
		case l.K < whole[i].K:
			add(l, l.K)
		}
		if l.Name == "qkv" && l.Quantised && tp > 1 {
			for _, size := range a.headShards(tp) {
				add(l, size)
			}
		}
	}
	return list
}

// headShards returns the widths of the queries, and of the keys, that an accelerator has in each
// kind of softmax attention.
func (a *Architecture) headShards(tp int) []int {
	var sizes []int
	for i := range a.Groups {
		if m, ok := a.Groups[i].Mixer.(*Softmax); ok {
			sizes = append(sizes, m.Heads/tp*m.HeadDim, max(1, m.KVHeads/tp)*m.HeadDim)
		}
	}
	return sizes
}
