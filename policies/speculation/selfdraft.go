package speculation

import "github.com/llmsim/llmsim/models"

// FeatureHead returns the shape of a drafter that is one layer on top of the target's features,
// with the target's output head: EAGLE (Li et al., ICML 2024, arXiv:2401.15077, section 4.1).
// EAGLE-3 (arXiv:2503.01840, section 3.1) has its own output head with fewer tokens; vocabulary is
// their number, and 0 means the target's vocabulary. The matrix that joins a feature with an
// embedding, 2·hidden² weights, counts as a wider MLP.
func FeatureHead(target *models.Architecture, vocabulary int) *models.Architecture {
	a := oneLayer(target, " EAGLE head")
	width := denseWidth(target) + a.Hidden
	gated := gatedMLP(target)
	if gated { // three matrices share what two do otherwise
		width -= a.Hidden / 3
	}
	a.Groups[0].MLP = &models.Dense{Intermediate: width, Gated: gated}
	if vocabulary > 0 {
		a.Vocab = vocabulary
	}
	return a
}

// denseWidth returns the width of the target's dense MLP. If the target has no dense layer, it
// returns the width of all experts that a token visits together.
func denseWidth(target *models.Architecture) int {
	for i := range target.Groups {
		if m, ok := target.Groups[i].MLP.(*models.Dense); ok {
			return m.Intermediate
		}
	}
	if m := target.Experts(); m != nil {
		return m.Active*m.Intermediate + m.SharedIntermediate
	}
	return target.Hidden
}

// gatedMLP reports whether the MLPs of the target have three matrices.
func gatedMLP(target *models.Architecture) bool {
	for i := range target.Groups {
		switch m := target.Groups[i].MLP.(type) {
		case *models.Dense:
			return m.Gated
		case *models.MoE:
			return m.Gated
		}
	}
	return false
}

// PredictionModule returns the shape of a multi-token prediction module: one more layer of the
// target's own kind, with the target's output head (DeepSeek-V3, arXiv:2412.19437, section 2.2).
func PredictionModule(target *models.Architecture) *models.Architecture {
	a := oneLayer(target, " MTP module")
	if m := target.Experts(); m != nil {
		a.Groups[0].MLP = m
	}
	return a
}

// OutputHead returns the shape of one layer of the target with its output head or, where vocabulary
// is above 0, with one of the given number of tokens.
func OutputHead(target *models.Architecture, vocabulary int) *models.Architecture {
	a := oneLayer(target, " output head")
	a.Groups[0].MLP = &models.Dense{Intermediate: denseWidth(target), Gated: gatedMLP(target)}
	if vocabulary > 0 {
		a.Vocab = vocabulary
	}
	return a
}

// SkippedLayers returns the target with some of its layers only, spread evenly, which drafts
// without weights or a KV cache of its own (Draft & Verify: Zhang et al., ACL 2024,
// arXiv:2309.08168). layers is in [1, the target's).
func SkippedLayers(target *models.Architecture, layers int) *models.Architecture {
	a := *target
	a.Name += " with layers skipped"
	a.Groups = nil
	all, before := target.Layers(), 0
	for _, g := range target.Groups {
		after := before + g.Count
		if g.Count = after*layers/all - before*layers/all; g.Count > 0 {
			a.Groups = append(a.Groups, g)
		}
		before = after
	}
	return &a
}

// oneLayer returns the target with one layer. Its attention is full if the target has layers with
// full attention.
func oneLayer(target *models.Architecture, name string) *models.Architecture {
	a := *target
	a.Name += name
	group := target.Groups[0]
	for _, g := range target.Groups {
		if g.Mixer != nil {
			group = g
			break
		}
	}
	if m := target.Attends(); m != nil {
		full := *m
		full.Window = 0
		group.Mixer = &full
	}
	group.Count, group.Norms = 1, max(group.Norms, 2)
	a.Groups = []models.Group{group}
	return &a
}
