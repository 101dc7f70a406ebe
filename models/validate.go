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
