package training

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// held is the parameters that the fullest accelerators hold: the first, an inner and the last stage
// may differ.
type held struct {
	// Dense is shared by all data ranks, Expert by the ranks of the expert group only.
	Dense, Expert float64
}

func (h held) total() float64 { return h.Dense + h.Expert }

// parameters counts the parameters of the model, anew unless a search has counted them before.
func (j *Job) parameters() models.Parameters {
	if j.counted != nil {
		return *j.counted
	}
	return j.Model.Parameters()
}

// layerParameters returns the parameters of all layers on one accelerator, as if they were on one
// stage: matrices split over tensor ranks, experts over the expert group.
func (j *Job) layerParameters() held {
	p := j.parameters()
	tp := float64(j.Layout.Tensor)
	split := float64(p.Attention+p.MLP+p.SharedExperts) / tp
	whole := float64(p.Router + p.Norms + p.Biases)
	return held{split + whole, float64(p.Experts) / float64(j.Layout.Expert)}
}

// embedding and head are the parameters of the ends of the model on one accelerator.
func (j *Job) embedding() float64 {
	p := j.parameters()
	return float64(p.Embedding+p.Positions) / float64(j.Layout.Tensor)
}

// head is a copy of the embedding where the two are tied but on different stages.
func (j *Job) head() float64 {
	p := j.parameters()
	if p.Head == 0 && j.Layout.Pipeline > 1 {
		return float64(p.Embedding) / float64(j.Layout.Tensor)
	}
	return float64(p.Head) / float64(j.Layout.Tensor)
}

// stageLayers returns how many layers the first, an inner and the last stage have. What is left
// over goes to inner stages, since the ends have embedding and head besides (Llama 3,
// arXiv:2407.21783, section 3.3.2).
func (j *Job) stageLayers() (first, inner, last int) {
	n, p := j.Model.Layers(), j.Layout.Pipeline
	if p == 1 {
		return n, n, n
	}
	base, over := n/p, n%p
	first, inner, last = base, base, base
	if over > 0 && p > 2 {
		inner++
	}
	if over > p-2 {
		first++
	}
	return first, inner, last
}

// stage returns the parameters that an accelerator of a stage with that many layers holds.
func (j *Job) stage(layers int, ends float64) held {
	h := j.layerParameters()
	part := float64(layers) / float64(j.Model.Layers())
	return held{h.Dense*part + ends, h.Expert * part}
}

// trained returns how many parameters of a layer's matrices learn under LoRA of a rank: rank·(N+K)
// for each linear layer (Hu et al., arXiv:2106.09685, section 4.1).
func trained(m *models.Architecture, rank int) int64 {
	n := int64(0)
	for _, l := range m.LinearLayers(1) {
		if l.Name != "lm_head" && l.Part != models.RouterPart {
			n += int64(l.Count) * int64(max(1, l.Experts)) * int64(rank) * int64(l.N+l.K)
		}
	}
	return n
}

// ModelFLOPs returns the FLOP of a token that training needs: two for each weight of a product that
// the token passes (a multiplication and an addition), and the FLOP of attention, in each pass.
// Causal counts only the pairs that a token attends to; tables of 2021 to 2023 count all of them.
func (j *Job) ModelFLOPs(causal bool) float64 {
	matrices, attention := j.forwardFLOPs(causal)
	products, scores := j.passes()
	return products*matrices + scores*attention
}

// passes returns how many times the arithmetic of a forward pass is needed, of products and of
// attention: forward, and for the gradients of inputs and of weights. Frozen weights of LoRA have
// no gradients, and the frozen copy of DPO computes forward.
func (j *Job) passes() (products, attention float64) {
	switch j.Method {
	case LoRA:
		return 2, 3
	case DPO:
		return 4, 4
	}
	return 3, 3
}

// forwardFLOPs returns the FLOP of a token in the forward pass, of matrices and of attention.
func (j *Job) forwardFLOPs(causal bool) (matrices, attention float64) {
	for _, p := range j.Model.LinearLayers(1) {
		n := 2 * float64(p.Count) * float64(p.N) * float64(p.K)
		if p.Part == models.ExpertPart {
			n *= float64(p.Active)
		}
		matrices += n
	}
	for _, a := range j.Model.AttentionLayers(1, hardware.BF16) {
		flops := float64(a.Count) * a.Prefill(j.Seq, 0).FLOPs / float64(j.Seq)
		if !causal && a.Window == 0 {
			flops = float64(a.Count) * (a.PrefillFLOPs*float64(j.Seq) + a.TokenFLOPs)
		}
		attention += flops
	}
	return matrices, attention
}
