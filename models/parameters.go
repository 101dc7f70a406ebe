package models

// Parameters counts the parameters of a model by component. Total is exact: it equals the number of elements in the
// published weights, buffers and duplicates of tied matrices aside.
type Parameters struct {
	// Embedding is the input embedding, with OPT-350M's projections; a tied output head is counted here, and once.
	Embedding int64
	// Positions is the learned position table, or the projections of relative positions.
	Positions int64
	// Attention is the query, key, value and output projections.
	Attention int64
	// MLP is the feed-forward matrices of layers without experts.
	MLP int64
	// Router, Experts and SharedExperts are the parts of a mixture of experts.
	Router, Experts, SharedExperts int64
	// Norms is the weights and biases of all norms; Biases is those of the projections, and the attention sinks.
	Norms, Biases int64
	// Head is the output head; 0 when it is tied to the embedding.
	Head int64
}

// Total returns the number of all parameters.
func (p Parameters) Total() int64 {
	return p.Embedding + p.Positions + p.Attention + p.MLP + p.Router + p.Experts + p.SharedExperts + p.Norms + p.Biases + p.Head
}

// Parameters counts all parameters.
func (a *Architecture) Parameters() Parameters {
	experts := 0
	if a.MoE != nil {
		experts = a.MoE.Experts
	}
	return a.count(experts)
}

// ActiveParameters counts the parameters on the path of one token: with a mixture of experts, only the experts that it visits.
func (a *Architecture) ActiveParameters() Parameters {
	experts := 0
	if a.MoE != nil {
		experts = a.MoE.Active
	}
	return a.count(experts)
}

// count counts the parameters with the given number of routed experts in each layer that has them.
func (a *Architecture) count(experts int) Parameters {
	var p Parameters
	p.Embedding = product(a.Vocab, a.embeddingDim())
	if a.EmbeddingDim != 0 {
		p.Embedding += 2 * product(a.EmbeddingDim, a.Hidden)
	}
	p.Positions = product(a.LearnedPositions, a.Hidden)
	if a.RelativePositions {
		p.Positions += product(a.Layers, a.Hidden, a.Heads, a.HeadDim)
	}
	if !a.TiedEmbeddings {
		p.Head = product(a.Vocab, a.embeddingDim())
	}
	p.Attention = int64(a.Layers) * a.attentionWeights()
	p.MLP = product(a.denseLayers(), a.mlpMatrices(), a.Hidden, a.Intermediate)
	if m := a.MoE; m != nil {
		layers := a.Layers - m.DenseLayers
		p.Router = product(layers, a.Hidden, m.Experts)
		if m.SharedGate {
			p.Router += product(layers, a.Hidden)
		}
		p.Experts = product(layers, experts, a.mlpMatrices(), a.Hidden, m.Intermediate)
		p.SharedExperts = product(layers, a.mlpMatrices(), a.Hidden, m.SharedIntermediate)
	}
	p.Norms = a.normParameters()
	p.Biases = a.biases(experts)
	return p
}

// attentionWeights returns the weights of one layer's projections.
func (a *Architecture) attentionWeights() int64 {
	if m := a.MLA; m != nil {
		query := product(a.Hidden, a.Heads, m.NopeDim+m.RopeDim)
		if m.QueryRank != 0 {
			query = product(a.Hidden, m.QueryRank) + product(m.QueryRank, a.Heads, m.NopeDim+m.RopeDim)
		}
		return query + product(a.Hidden, m.KVRank+m.RopeDim) + product(m.KVRank, a.Heads, m.NopeDim+m.ValueDim) +
			product(a.Heads, m.ValueDim, a.Hidden)
	}
	return product(2, a.Hidden, a.Heads+a.KVHeads, a.HeadDim)
}

// normParameters returns the parameters of all norms.
func (a *Architecture) normParameters() int64 {
	wide := a.Layers * a.normsPerLayer()
	if !a.NoFinalNorm {
		wide++
	}
	if a.EmbeddingNorm {
		wide++
	}
	n := product(wide, a.Hidden)
	if a.QKNorm {
		n += product(a.Layers, 2, a.HeadDim)
	}
	if m := a.MLA; m != nil {
		n += product(a.Layers, m.QueryRank+m.KVRank)
	}
	if a.NormBias {
		n *= 2
	}
	return n
}

// biases returns the biases of all projections and the attention sinks, with the given number of routed experts a layer.
func (a *Architecture) biases(experts int) int64 {
	var n int64
	if a.QKVBias {
		n += product(a.Layers, a.Heads+2*a.KVHeads, a.HeadDim)
	}
	if a.OutBias {
		n += product(a.Layers, a.Hidden)
	}
	up := a.mlpMatrices() - 1
	if a.MLPBias {
		n += product(a.denseLayers(), up*a.Intermediate+a.Hidden)
	}
	if m := a.MoE; m != nil {
		layers := a.Layers - m.DenseLayers
		if a.MLPBias {
			n += product(layers, experts, up*m.Intermediate+a.Hidden)
		}
		if m.RouterBias {
			n += product(layers, m.Experts)
		}
	}
	if a.AttentionSinks {
		n += product(a.Layers, a.Heads)
	}
	if a.HeadBias {
		n += int64(a.Vocab)
	}
	return n
}

// denseLayers returns the number of layers that have an ordinary MLP.
func (a *Architecture) denseLayers() int {
	if a.MoE != nil {
		return a.MoE.DenseLayers
	}
	return a.Layers
}

// mlpMatrices returns the number of matrices of an MLP or expert: three when gated, else two.
func (a *Architecture) mlpMatrices() int {
	if a.GatedMLP {
		return 3
	}
	return 2
}

func (a *Architecture) normsPerLayer() int {
	if a.NormsPerLayer == 0 {
		return 2
	}
	return a.NormsPerLayer
}

func (a *Architecture) embeddingDim() int {
	if a.EmbeddingDim != 0 {
		return a.EmbeddingDim
	}
	return a.Hidden
}

// product multiplies in 64 bits.
func product(factors ...int) int64 {
	n := int64(1)
	for _, f := range factors {
		n *= int64(f)
	}
	return n
}
