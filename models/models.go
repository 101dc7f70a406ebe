// Package models describes language models: their shape, exact parameter count, bytes of weights
// and of the state that sequences keep, and the shapes and closed forms from which the FLOPs and
// bytes of a step follow. What a step costs on a given machine is in models/steptime.
//
// An Architecture comes from the catalogue by name (Load, Catalog.Lookup), or from a Hugging Face
// config.json (FromHuggingFace). It is groups of alike layers, each with a Mixer and an MLP: a new
// kind of either is one file that implements the interface. Of an Architecture, parameters.go,
// weights.go and cache.go count what is stored; step.go lists what a step computes on one GPU.
package models

import "github.com/llmsim/llmsim/hardware"

// Architecture is the shape of a decoder-only language model.
type Architecture struct {
	// Name is the catalogue name, such as "llama-2-70b"; Aliases are other names that find it
	// (Hugging Face ids among them).
	Name    string
	Aliases []string
	// Family is Hugging Face's model_type, such as "llama".
	Family string
	// Source says where the shape is from.
	Source string

	Hidden, Vocab int
	// MaxContext is the longest context in tokens that the model was made for.
	MaxContext int
	// Groups are the layers in their order, neighbours that are alike in one group.
	Groups []Group
	// TiedEmbeddings reports whether the output head shares the input embedding.
	TiedEmbeddings bool
	// LearnedPositions is the number of rows of a learned position table; 0 means rotary or ALiBi.
	LearnedPositions int
	// EmbeddingDim is the width of the token embedding where it differs from Hidden (OPT-350M); 0
	// means Hidden.
	EmbeddingDim int
	// LayerInput is the width of a further embedding of each token for each layer, which a gate
	// adds (Gemma 4 E2B; transformers, modeling_gemma4.py); 0 without one.
	LayerInput int
	// HeadBias reports whether the output head has a bias, NormBias distinguishes LayerNorm (weight
	// and bias) from RMSNorm (weight).
	HeadBias, NormBias bool
	// NoFinalNorm reports whether there is no norm before the output head, EmbeddingNorm whether
	// there is one after the embedding (BLOOM).
	NoFinalNorm, EmbeddingNorm bool
	// Streams is the number of copies of the hidden vector that layers read and write through
	// learned mixtures (hyper-connections: arXiv:2409.19606; manifold-constrained:
	// arXiv:2512.24880); 0 means 1, without mixtures.
	Streams int
	// DType is the number format in which most of the weights are published, KV that in which the
	// publisher says to cache; empty where nothing is said.
	DType, KV hardware.DType
	// Predictors are the layers for multi-token prediction that the checkpoint has besides
	// (DeepSeek-V3, arXiv:2412.19437, section 2.2), each with a projection of 2·Hidden to Hidden.
	// Parameters does not count them.
	Predictors []Group
	// Towers are the encoders of images and sounds. Parameters counts them.
	Towers []Tower
	// RotaryTables is the number of sines and cosines of rotary positions up to the longest
	// context, as engines that look them up keep them; all layers of a kind share a table.
	RotaryTables int64
}

// Tower is an encoder whose output takes the place of tokens.
type Tower struct {
	// Name is "vision" or "audio".
	Name string
	// Parameters is the number of its weights, which stay in 16 bits.
	Parameters int64
	// Images says how an encoder of images works; nil where the config does not tell how pixels
	// become tokens.
	Images *ImageEncoder
	// Sounds says how an encoder of sounds works; nil where that is not known.
	Sounds *SoundEncoder
}

// Group is neighbouring layers that are alike.
type Group struct {
	Count int
	// Mixer lets a token see others (attention, say); nil in layers that have an MLP only.
	Mixer Mixer
	// MLP computes on each token by itself; nil in layers that have a mixer only.
	MLP MLP
	// Norms is the number of norms over the hidden vector in one layer.
	Norms int
	// Parallel reports whether mixer and MLP read the same normalised input (Falcon, GPT-J).
	Parallel bool
	// Formats are the published formats of the matrices where they are not all alike; nil where all
	// follow the deployment.
	Formats *Formats
}

// Mixer is a kind of token mixing: softmax attention in its many forms, linear attention, or a
// state-space layer.
type Mixer interface {
	part
	// attention lists the kernels of one layer on one of tp GPUs that touch what sequences keep,
	// stored as kv; their Count is 0.
	attention(tp int, kv hardware.DType) []Attention
	// state lists what one layer keeps of a sequence on one of tp GPUs, stored as kv; their Layers
	// are 0.
	state(tp int, kv hardware.DType) []State
	// fitsTensor returns an error where a layer of the named model cannot be split over tp GPUs.
	fitsTensor(tp int, model string) error
}

// MLP is a kind of feed-forward network.
type MLP interface {
	part
}

// part has the methods that mixers and MLPs share. All figures are of one layer.
type part interface {
	// linears lists the matrix products on one of tp GPUs, in the order of execution; their Count
	// is 0.
	linears(hidden, tp int) []Linear
	// nonMatrix counts the parameters outside of matrices, with the part of the routed experts that
	// is counted.
	nonMatrix(hidden int, experts expertShare) nonMatrixParameters
	// elementwise lists the element-wise kernels on one of tp GPUs; their Count is 0.
	elementwise(hidden, tp int) []ElementwiseKernel
	// sizes lists the figures that Validate checks, and relations between them that do not hold.
	sizes() ([]size, error)
}

// nonMatrixParameters are the parameters of a layer outside of its matrices.
type nonMatrixParameters struct {
	// Norms is the widths of all norms, whose number of parameters doubles with LayerNorm.
	Norms int64
	// Biases counts the biases of projections, attention sinks, short convolutions, and decays.
	Biases int64
	// Positions is projections of relative positions.
	Positions int64
}

// expertShare says which routed experts are counted.
type expertShare bool

const (
	allExperts    expertShare = false
	activeExperts expertShare = true
)
