package training

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// heldParameters is the parameters that the fullest accelerators hold: the first, an inner and the
// last stage may differ.
type heldParameters struct {
	// Dense is shared by all data ranks, Expert by the ranks of the expert group only.
	Dense, Expert float64
}

func (h heldParameters) total() float64 { return h.Dense + h.Expert }

// spread is a model in a layout: what one accelerator holds of its parameters, and with which
// others it shares them.
type spread struct {
	model  *models.Architecture
	layout *Layout
	// counted is the parameters of model where a search has counted them; else they are counted
	// each time.
	counted *models.Parameters
}

func (j *Job) spread() *spread { return &spread{j.Model, &j.Layout, j.counted} }

// learned returns the parameters of an accelerator of the fullest stage that learn.
func (j *Job) learned() heldParameters {
	s, l := j.spread(), &j.Layout
	if j.Method == LoRA {
		return heldParameters{Dense: float64(trained(j.Model,
			loraRank)) / float64(l.Pipeline*l.Tensor)}
	}
	first, inner, _ := s.stageLayers()
	return s.stage(max(first, inner), s.embedding())
}

// share returns the number of parameters that an accelerator has of h, where ZeRO shares them.
func (s *spread) share(h heldParameters) float64 {
	l := s.layout
	expert := max(1, float64(l.Tensor*l.Context*l.Data)/float64(l.Expert))
	return h.Dense/float64(s.shards()) + h.Expert/expert
}

// parameters counts the parameters of the model.
func (s *spread) parameters() models.Parameters {
	if s.counted != nil {
		return *s.counted
	}
	return s.model.Parameters()
}

// layerParameters returns the parameters of all layers on one accelerator, as if they were on one
// stage: matrices split over tensor ranks, experts over the expert group.
func (s *spread) layerParameters() heldParameters {
	p := s.parameters()
	tp := float64(s.layout.Tensor)
	split := float64(p.Attention+p.MLP+p.SharedExperts) / tp
	whole := float64(p.Router + p.Norms + p.Biases)
	return heldParameters{split + whole, float64(p.Experts) / float64(s.layout.Expert)}
}

// embedding and head are the parameters of the ends of the model on one accelerator.
func (s *spread) embedding() float64 {
	p := s.parameters()
	return float64(p.Embedding+p.Positions) / float64(s.layout.Tensor)
}

// head is a copy of the embedding where the two are tied but on different stages.
func (s *spread) head() float64 {
	p := s.parameters()
	if p.Head == 0 && s.layout.Pipeline > 1 {
		return float64(p.Embedding) / float64(s.layout.Tensor)
	}
	return float64(p.Head) / float64(s.layout.Tensor)
}

// stageLayers returns how many layers the first, an inner and the last stage have. What is left
// over goes to inner stages, since the ends have embedding and head besides (Llama 3,
// arXiv:2407.21783, section 3.3.2).
func (s *spread) stageLayers() (first, inner, last int) {
	n, p := s.model.Layers(), s.layout.Pipeline
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
func (s *spread) stage(layers int, ends float64) heldParameters {
	h := s.layerParameters()
	part := float64(layers) / float64(s.model.Layers())
	return heldParameters{h.Dense*part + ends, h.Expert * part}
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
	products, scores := j.Method.passes()
	return products*matrices + scores*attention
}

// passes returns how many times the arithmetic of a forward pass is needed, of products and of
// attention: forward, and for the gradients of inputs and of weights. Frozen weights of LoRA have
// no gradients, and the frozen copy of DPO computes forward.
func (m Method) passes() (products, attention float64) {
	switch m {
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

// denseGroup is the ranks that share dense weights, expertGroup the ranks of the same experts.
func (s *spread) denseGroup() group { return group{s.shards(), s.layout.Tensor} }

// shards returns the number of ranks over which ZeRO shares.
func (s *spread) shards() int {
	if s.layout.Shard > 0 {
		return s.layout.Shard
	}
	return s.layout.Data * s.layout.Context
}

// copies is the ranks that hold the same shares of dense weights.
func (s *spread) copies() group {
	n := s.shards()
	return group{s.layout.Data * s.layout.Context / n, s.layout.Tensor * n}
}

func (s *spread) expertGroup() group {
	l := s.layout
	return group{l.Tensor * l.Context * l.Data / l.Expert, l.Expert}
}

// loraRank is the rank of adapters: the rank of Hu et al., arXiv:2106.09685, lies between 1 and 64.
const loraRank = 16
