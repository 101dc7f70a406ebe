package speculation

import "github.com/llmsim/llmsim/models"

// FeatureHead returns the shape of a drafter that is one layer on top of the target's features, with the target's output head: EAGLE
// (Li et al., ICML 2024, arXiv:2401.15077, section 4.1), and EAGLE-3 (arXiv:2503.01840, section 3.1), whose own head knows
// vocabulary tokens only; 0 means the target's. The matrix that joins a feature with an embedding, 2·hidden² weights, counts as
// a wider MLP.
func FeatureHead(target *models.Architecture, vocabulary int) *models.Architecture {
	a := oneLayer(target, " EAGLE head")
	if a.MoE != nil && a.Intermediate == 0 {
		a.Intermediate = a.MoE.Active*a.MoE.Intermediate + a.MoE.SharedIntermediate
	}
	a.MoE = nil
	a.Intermediate += a.Hidden
	if a.GatedMLP { // three matrices share what two do otherwise
		a.Intermediate -= a.Hidden / 3
	}
	if vocabulary > 0 {
		a.Vocab = vocabulary
	}
	return a
}

// PredictionModule returns the shape of a multi-token prediction module: one more layer of the target's own kind, with the target's
// output head (DeepSeek-V3, arXiv:2412.19437, section 2.2).
func PredictionModule(target *models.Architecture) *models.Architecture {
	a := oneLayer(target, " MTP module")
	if target.MoE != nil {
		moe := *target.MoE
		moe.DenseLayers = 0
		a.MoE = &moe
	}
	return a
}

// OutputHead returns the shape of one layer of the target with its output head or, where vocabulary is above 0, with one of so many
// tokens.
func OutputHead(target *models.Architecture, vocabulary int) *models.Architecture {
	a := oneLayer(target, " output head")
	a.MoE = nil
	if vocabulary > 0 {
		a.Vocab = vocabulary
	}
	return a
}

// SkippedLayers returns the target with some of its layers only, which drafts without weights or a KV cache of its own (Draft &
// Verify: Zhang et al., ACL 2024, arXiv:2309.08168). layers is in [1, target.Layers).
func SkippedLayers(target *models.Architecture, layers int) *models.Architecture {
	a := *target
	a.Name += " with layers skipped"
	a.Layers = layers
	if a.WindowLayers = target.WindowLayers * layers / target.Layers; a.WindowLayers == 0 && target.WindowLayers > 0 {
		a.Window = 0
	}
	if target.MoE != nil {
		moe := *target.MoE
		moe.DenseLayers = min(moe.DenseLayers, layers)
		a.MoE = &moe
	}
	return &a
}

// oneLayer returns the target with one layer, whose attention is full.
func oneLayer(target *models.Architecture, name string) *models.Architecture {
	a := *target
	a.Name += name
	a.Layers, a.Window, a.WindowLayers = 1, 0, 0
	return &a
}
