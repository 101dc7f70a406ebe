package models

import (
	"fmt"
	"slices"
)

// Layers returns the number of layers.
func (a *Architecture) Layers() int {
	n := 0
	for i := range a.Groups {
		n += a.Groups[i].Count
	}
	return n
}

// Experts returns the first mixture of experts of the layers, or nil without one.
func (a *Architecture) Experts() *MoE {
	for i := range a.Groups {
		if m, ok := a.Groups[i].MLP.(*MoE); ok {
			return m
		}
	}
	return nil
}

// ExpertLayers returns the number of layers that have routed experts.
func (a *Architecture) ExpertLayers() int {
	n := 0
	for i := range a.Groups {
		if _, ok := a.Groups[i].MLP.(*MoE); ok {
			n += a.Groups[i].Count
		}
	}
	return n
}

// Attends returns the first softmax attention of the layers, or nil without one.
func (a *Architecture) Attends() *Softmax {
	for i := range a.Groups {
		if s, ok := a.Groups[i].Mixer.(*Softmax); ok {
			return s
		}
	}
	return nil
}

// Plain reports whether all layers have softmax attention to all tokens before.
func (a *Architecture) Plain() bool {
	return !slices.ContainsFunc(a.Groups, func(g Group) bool {
		s, softmax := g.Mixer.(*Softmax)
		return g.Mixer != nil && !(softmax && s.Window == 0)
	})
}

// AttentionKind names the kind of attention of the layers for which engines choose kernels:
// "heads" of keys and values, "latent" or "sparse", where an indexer chooses among latents. It is
// empty for a model without one of these.
func (a *Architecture) AttentionKind() string {
	for i := range a.Groups {
		switch m := a.Groups[i].Mixer.(type) {
		case *Softmax, *ParallelMixers:
			return "heads"
		case *MLA:
			if m.Indexer != nil {
				return "sparse"
			}
			return "latent"
		}
	}
	return ""
}

// Uniform returns the groups of a model of n layers that are all alike, with a norm before each
// mixer and MLP.
func Uniform(n int, mixer Mixer, mlp MLP) []Group {
	return []Group{{Count: n, Mixer: mixer, MLP: mlp, Norms: 2}}
}

// FitsTensor returns an error where a layer cannot be split over tp GPUs.
func (a *Architecture) FitsTensor(tp int) error {
	for i := range a.Groups {
		if m := a.Groups[i].Mixer; m != nil {
			if err := m.fitsTensor(tp, a.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts returns the mixer and the MLP, as far as the layers have them.
func (g *Group) parts() []part {
	var ps []part
	if g.Mixer != nil {
		ps = append(ps, g.Mixer)
	}
	if g.MLP != nil {
		ps = append(ps, g.MLP)
	}
	return ps
}

// norms returns the number of norms over the hidden vector.
func (a *Architecture) norms() int {
	n := 0
	for i := range a.Groups {
		n += a.Groups[i].Count * a.Groups[i].Norms
	}
	if !a.NoFinalNorm {
		n++
	}
	if a.EmbeddingNorm {
		n++
	}
	return n
}

func (a *Architecture) embeddingDim() int {
	if a.EmbeddingDim != 0 {
		return a.EmbeddingDim
	}
	return a.Hidden
}

// Validate reports the first figure that makes no sense: a size outside its range (see sizes),
// query heads that KV heads do not divide, or parts that are larger than the whole.
func (a *Architecture) Validate() error {
	if err := checkSizes(a.sizes()); err != nil {
		return err
	}
	for i := range a.Groups {
		g := &a.Groups[i]
		if g.Count < 1 {
			return fmt.Errorf("layers of a group: found %d, want at least 1", g.Count)
		}
		for _, p := range g.parts() {
			ss, relation := p.sizes()
			if err := checkSizes(ss); err != nil {
				return err
			}
			if relation != nil {
				return relation
			}
		}
	}
	return nil
}

// sizes lists the figures of the whole model that are checked; mixers and MLPs have their own. The
// ranges are far wider than any model that exists, and narrow enough that no count of parameters or
// bytes overflows 64 bits.
func (a *Architecture) sizes() []size {
	return []size{
		{"layers", a.Layers(), 1, 1 << 10},
		{"hidden size", a.Hidden, 1, 1 << 17},
		{"vocabulary", a.Vocab, 1, 1 << 24},
		{"longest context", a.MaxContext, 1, 1 << 30},
		{"learned positions", a.LearnedPositions, 0, 1 << 24},
		{"residual streams", a.Streams, 0, 64},
		{"embedding width", a.EmbeddingDim, 0, 1 << 17},
	}
}
