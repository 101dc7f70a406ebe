// Package models describes language models: their shape, exact parameter count, bytes of weights and of KV cache, and the
// shapes and closed forms from which the FLOPs and bytes of a step follow. What a step costs on a given machine is in
// models/steptime.
//
// An Architecture comes from the catalogue by name (Load, Catalog.Lookup), or from a Hugging Face config.json
// (FromHuggingFace; the families that it knows are in hf_family.go and hf_family_gpt.go). Of an Architecture,
// parameters.go, weights.go and kvcache.go count what is stored; linear.go, attention.go and elementwise.go list what a step
// computes on one GPU.
package models

import "github.com/llmsim/llmsim/hardware"

// Architecture is the shape of a decoder-only transformer.
type Architecture struct {
	// Name is the catalogue name, such as "llama-2-70b"; Aliases are other names that find it (Hugging Face ids among them).
	Name    string
	Aliases []string
	// Family is Hugging Face's model_type, such as "llama".
	Family string
	// Source tells where the shape is from.
	Source string

	Layers, Hidden, Heads, KVHeads, HeadDim, Intermediate, Vocab int
	// MaxContext is the longest context in tokens that the model was made for.
	MaxContext int
	// Window is the sliding window of attention in tokens; 0 means full attention. WindowLayers is the number of layers that
	// have it (all of them when it is 0 and Window is not).
	Window, WindowLayers int
	// GatedMLP tells that the MLP has three matrices (SwiGLU), else two.
	GatedMLP bool
	// TiedEmbeddings tells that the output head shares the input embedding.
	TiedEmbeddings bool
	// LearnedPositions is the number of rows of a learned position table; 0 means rotary or ALiBi.
	LearnedPositions int
	// EmbeddingDim is the width of the token embedding where it differs from Hidden (OPT-350M); 0 means Hidden.
	EmbeddingDim int
	// ParallelBlock tells that attention and MLP read the same normalised input (Falcon, GPT-J).
	ParallelBlock bool
	// RelativePositions tells that every layer projects relative positions to keys (Transformer-XL, arXiv:1901.02860, section
	// 3.3: W_kR), as Gopher and Chinchilla do.
	RelativePositions bool
	// QKVBias, OutBias, MLPBias and HeadBias tell which projections have biases; QKNorm adds a norm a head to queries and keys.
	QKVBias, OutBias, MLPBias, HeadBias, QKNorm bool
	// AttentionSinks tells that each head has a learned logit that takes part in its softmax (gpt-oss).
	AttentionSinks bool
	// NormBias tells LayerNorm (weight and bias) from RMSNorm (weight). NormsPerLayer is the number of norms in a block; 0 means 2.
	NormBias      bool
	NormsPerLayer int
	// NoFinalNorm tells that there is no norm before the output head, EmbeddingNorm that there is one after the embedding (BLOOM).
	NoFinalNorm, EmbeddingNorm bool
	// DType is the number format in which the weights are published.
	DType hardware.DType

	MLA *MLA
	MoE *MoE
}

// MLA is multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): the cache holds one latent vector and one
// rotary key a token and layer, shared by all heads.
type MLA struct {
	// QueryRank is the rank of the query compression; 0 means that queries are not compressed.
	QueryRank int
	// KVRank is the width of the cached latent vector, RopeDim of the cached rotary key.
	KVRank, RopeDim int
	// NopeDim is the width of a head's non-rotary query and key, ValueDim of its value.
	NopeDim, ValueDim int
}

// MoE is a mixture of experts in place of the MLP.
type MoE struct {
	// Experts is the number of routed experts, Active how many a token visits, Shared how many every token visits besides.
	Experts, Active, Shared int
	// Intermediate is the width of one routed expert, SharedIntermediate of all shared experts together.
	Intermediate, SharedIntermediate int
	// DenseLayers is the number of layers that have an ordinary MLP of width Architecture.Intermediate.
	DenseLayers int
	// RouterBias tells that the router has a correction bias an expert, SharedGate that a gate of one output weighs the shared
	// experts (Qwen2-MoE).
	RouterBias, SharedGate bool
}
