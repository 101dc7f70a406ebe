package models

import "fmt"

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

// size is a figure of an architecture with its range.
type size struct {
	name               string
	value, least, most int
}

func checkSizes(ss []size) error {
	for _, s := range ss {
		if s.value < s.least || s.value > s.most {
			return fmt.Errorf("%s: found %d, want %d to %d", s.name, s.value, s.least, s.most)
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
