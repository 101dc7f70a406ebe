package steptime

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models"
)

// MemoryConfig describes what must fit into the memory of each accelerator of a replica.
type MemoryConfig struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	Parallel    Parallelism
	// Weights and KV are number formats; empty ones are as in Config.
	Weights, KV hardware.DType
	Engine      Engine
	// Utilisation is the share of the memory that the engine may use; 0 means 0.9.
	Utilisation float64
	// TokenBudget is the largest number of tokens of a step, Sequences the largest number that run
	// together, over all data-parallel ranks.
	TokenBudget, Sequences int
	// BlockTokens is the number of tokens of a KV block; 0 means 16.
	BlockTokens int
	// Context is the length in tokens for which MemoryPlan.Contexts is counted; 0 means the model's
	// longest.
	Context int
	// Windows reports whether the engine drops the KV of tokens that sliding windows have passed;
	// else it keeps the KV of all tokens.
	Windows bool
	// WindowShare is the part of the tokens whose KV has room in layers with windows, where they
	// have a pool apart and Windows does not hold; 0 means that all have.
	WindowShare float64
	// DraftWeights is the bytes of weights of a drafter that shares the accelerator, and DraftKV
	// what it stores for a token there; 0 without speculative decoding.
	DraftWeights, DraftKV float64
	// Adapters are the adapters of the model.
	Adapters Adapters
	// Encodings is the number of tokens of images and sounds whose encodings are kept. Engines
	// measure how much memory activations take with all of them there.
	Encodings int
}

// MemoryPlan divides the memory of one accelerator, in bytes: Usable = Weights + Draft +
// Adapters + Activations + Context + KV, unless Missing is above 0.
type MemoryPlan struct {
	// Total is the memory of the accelerator, and Usable the part that the engine may use.
	Total, Usable float64
	// Weights, Activations (their peak in the largest step or in sampling, whichever is larger) and
	// Context (driver, libraries, captured graphs) are taken first.
	Weights, Activations, Context float64
	// Experts is the part of the weights that routed experts take. If there are several ranks, each
	// expert is on one rank only.
	Experts float64
	// Ranks is the number of data-parallel ranks. Each has Blocks of its own.
	Ranks int
	// Draft is the weights of a drafter for speculative decoding.
	Draft float64
	// Adapters is the memory of their slots.
	Adapters float64
	// KV is the memory that is left for the cache; 0 if it has no room for a block and a sequence
	// of one token. Missing is the number of bytes that such a cache needs beyond Usable.
	KV, Missing float64
	// KVBytesPerToken is the size in bytes of a token's KV on each accelerator of the stage with
	// the most layers, including a drafter's cache.
	KVBytesPerToken float64
	// State is the size of what a sequence keeps on an accelerator of the stage with the most
	// layers: KVBytesPerToken for each token if the engine does not know windows, and state of
	// fixed size.
	State models.SequenceState
	// BlockTokens is the number of tokens of a block; Blocks is the number of blocks of a rank, and
	// Tokens what all ranks hold.
	BlockTokens, Blocks, Tokens int
	// ContextTokens is the length asked for, Contexts the number of sequences of that length that
	// fit at once.
	ContextTokens, Contexts int
}

// Err returns nil if the model fits with room for one block and a sequence of one token, else an
// error that says how much is missing.
func (p *MemoryPlan) Err() error {
	if p.Blocks > 0 && p.Longest() > 0 {
		return nil
	}
	if p.Missing == 0 {
		return fmt.Errorf("does not fit into a KV cache of %d tokens: a sequence needs one of %d",
			p.Tokens, p.LeastTokens())
	}
	weights := units.FormatBytes(p.Weights)
	if p.Draft > 0 {
		weights += ", drafter " + units.FormatBytes(p.Draft)
	}
	if p.Adapters > 0 {
		weights += ", adapters " + units.FormatBytes(p.Adapters)
	}
	return fmt.Errorf("does not fit: weights %s, activations %s and engine %s are %s more than "+
		"the usable %s of each accelerator",
		weights, units.FormatBytes(p.Activations), units.FormatBytes(p.Context),
		units.FormatBytes(p.Missing), units.FormatBytes(p.Usable))
}

// Plan divides the memory of an accelerator as the engine does: the weights, the activation peak of
// a step of TokenBudget tokens, what the engine keeps, and the rest for the KV cache. It returns an
// error where the model cannot be split as asked; see MemoryPlan.Err for whether it fits.
func Plan(cfg MemoryConfig) (MemoryPlan, error) {
	full, _, err := Config{Model: cfg.Model, Accelerator: cfg.Accelerator, Parallel: cfg.Parallel,
		Weights: cfg.Weights, KV: cfg.KV, Engine: Engine{Roofline: true}}.resolve()
	if err == nil {
		err = refuseShards(cfg.Engine.Kernels, cfg.Model, full.Parallel, full.Weights)
	}
	if err != nil {
		return MemoryPlan{}, err
	}
	if cfg.Utilisation == 0 {
		cfg.Utilisation = 0.9
	}
	tp, pp, ranks := full.Parallel.Tensor, full.Parallel.Pipeline, full.Parallel.Data
	layers := cfg.Model.Layers()
	stage := float64((layers+pp-1)/pp) / float64(layers)
	once := float64(cfg.Model.ExpertBytesPerGPU(full.Weights, tp, pp))
	experts := once * full.Parallel.copies(cfg.Model)
	p := MemoryPlan{
		Total:  cfg.Accelerator.Memory,
		Usable: cfg.Accelerator.Memory * cfg.Utilisation,
		Weights: float64(cfg.Model.WeightBytesPerGPU(full.Weights, tp, pp)) - once +
			experts/float64(ranks) + cfg.Engine.Memory.Rotary*float64(cfg.Model.RotaryTables),
		Experts:       experts / float64(ranks),
		Ranks:         ranks,
		Activations:   activationPeak(&full, &cfg) + 2*float64(cfg.Encodings*cfg.Model.Hidden),
		Context:       cfg.Engine.Memory.Context,
		Draft:         cfg.DraftWeights,
		BlockTokens:   cfg.BlockTokens,
		ContextTokens: cfg.Context,
	}
	if p.BlockTokens == 0 {
		p.BlockTokens = 16
	}
	if p.ContextTokens == 0 {
		p.ContextTokens = cfg.Model.MaxContext
	}
	p.setState(&cfg, full.KV, tp, stage)
	p.KVBytesPerToken = max(1, p.State.Growing+p.State.Windowed)
	block := p.KVBytesPerToken * float64(p.BlockTokens)
	p.Adapters = stage * float64(cfg.Adapters.Slots) *
		cfg.Adapters.Bytes(cfg.Model, tp, cfg.Adapters.Room)
	p.KV = p.Usable - p.Weights - p.Draft - p.Adapters - p.Activations - p.Context
	if least := max(block, p.State.Bytes(1)); p.KV < least {
		p.Missing, p.KV = least-p.KV, 0
	}
	p.Blocks = int(p.KV / block)
	p.hold(p.Blocks * p.BlockTokens)
	return p, nil
}

// hold sets the number of tokens that each rank holds.
func (p *MemoryPlan) hold(tokens int) {
	p.Tokens = tokens * p.Ranks
	p.Contexts = p.Holds(p.ContextTokens)
}

// Holds returns how many sequences of that many tokens fit at once, over all ranks, each in whole
// blocks.
func (p *MemoryPlan) Holds(context int) int {
	context = (max(1, context) + p.BlockTokens - 1) / p.BlockTokens * p.BlockTokens
	rank := p.Tokens / p.Ranks
	if p.bounded() {
		return int(float64(rank)*p.KVBytesPerToken/p.State.Bytes(context)) * p.Ranks
	}
	return rank / context * p.Ranks
}

// Kept returns what a sequence keeps on one of tp GPUs where the engine drops what windows have
// passed, in blocks of that many tokens, and the least tokens of a block, if blocks and states
// share pages; else 0.
func (e *Engine) Kept(m *models.Architecture, tp int, kv hardware.DType,
	block int) (k models.SequenceState, least int) {
	if pages := models.SharePages(m.States(tp, kv), block); e.Pages && pages.Bytes > 0 {
		k = pages.State()
		return k, k.StateTokens
	}
	return m.SequenceState(tp, kv), 0
}

// setState sets what a sequence keeps in a stage with the given part of the layers.
func (p *MemoryPlan) setState(cfg *MemoryConfig, kv hardware.DType, tp int, stage float64) {
	k := cfg.Model.SequenceState(tp, kv)
	if cfg.Windows {
		var block int
		k, block = cfg.Engine.Kept(cfg.Model, tp, kv, p.BlockTokens)
		p.BlockTokens = max(p.BlockTokens, block)
	}
	k.Growing, k.Windowed, k.Fixed = k.Growing*stage+cfg.DraftKV, k.Windowed*stage, k.Fixed*stage
	k = cfg.Parallel.OwnPart(k)
	if b := max(1, cfg.BlockTokens); cfg.Windows && k.Window > 0 { // blocks that a window can touch
		k.Window = ((k.Window-1+b-1)/b + 1) * b
	}
	if !cfg.Windows {
		if cfg.WindowShare > 0 {
			k.Windowed *= cfg.WindowShare
		}
		k.Growing, k.Windowed, k.Window = k.Growing+k.Windowed, 0, 0
	}
	p.State = k
}

// bounded reports whether a sequence keeps anything else than a part of each token.
func (p *MemoryPlan) bounded() bool { return p.State.Windowed > 0 || p.State.Fixed > 0 }

// Limit makes the cache no larger than the given number of tokens over all ranks.
func (p *MemoryPlan) Limit(tokens int) {
	p.Blocks = tokens / p.Ranks / p.BlockTokens
	p.KV = float64(tokens/p.Ranks) * p.KVBytesPerToken
	p.hold(tokens / p.Ranks)
}

// LeastTokens returns the size in tokens of the smallest cache, over all ranks, that has a block
// and room for a sequence of one token.
func (p *MemoryPlan) LeastTokens() int {
	one := int(math.Ceil(p.State.Bytes(1) / p.KVBytesPerToken))
	return max(p.BlockTokens, one) * p.Ranks
}

// Longest returns the largest number of tokens of one sequence, which is the number that a rank
// holds.
func (p *MemoryPlan) Longest() int {
	if !p.bounded() {
		return p.Tokens / p.Ranks
	}
	room := float64(p.Tokens/p.Ranks)*p.KVBytesPerToken - p.State.Fixed
	if room < 0 || p.State.Bytes(p.State.Window) > room+p.State.Fixed {
		return max(0, int(room/(p.State.Growing+p.State.Windowed)))
	}
	room -= float64(p.State.Window) * p.State.Windowed
	return int(min(room/max(p.State.Growing, 1e-9), 1<<30))
}

// activationPeak returns the bytes of the widest moment of a step: residual, input and output of a
// layer and the two sides of its MLP's activation for all tokens, or the logits and their copies
// for all sequences, beside what the engine keeps all the time. Each data-parallel rank has its
// part of both: of 16,384 sequences of DeepSeek-V3 on 32 ranks, 512 with 129,280 logits each, which
// at 15.2 bytes are 1.006 GB.
//
// Logs of vLLM say how wide a layer is: between 20,000 and 29,000 tokens of Llama-3.1-8B the peak
// of V0 grew by 109.8 KB a token (vllm-project/vllm, issue 10517), which is 3 hidden vectors and 3
// of the MLP in 16 bits.
func activationPeak(full *Config, cfg *MemoryConfig) float64 {
	wide, own := bytesOf(full.Activations), &cfg.Engine.Memory
	ranks := full.Parallel.Data
	onRank := func(n int) float64 { return float64((n + ranks - 1) / ranks) }
	tokens, hidden := onRank(cfg.TokenBudget), cfg.Model.Hidden
	width, workspaces := 0, 0
	for _, l := range cfg.Model.LinearLayers(full.Parallel.Tensor) {
		switch {
		case l.Rows == models.SampledRows:
		case l.Rows == models.RoutedRows && own.Workspaces:
			workspaces = max(workspaces, l.Active*(max(l.N, hidden)+max(l.N/2, hidden)))
		default:
			width = max(width, max(1, l.Active)*l.N)
		}
	}
	sampled := cfg.Sequences
	if own.Sampled > 0 {
		sampled = min(sampled, own.Sampled)
	}
	kept := workspaces
	if own.Hidden {
		kept += hidden
	}
	layer := tokens * wide * float64(3*hidden+width+width/2)
	logits := onRank(sampled) * float64(cfg.Model.Vocab) * (own.LogitBytes + wide - 2)
	return max(layer, logits) + tokens*wide*float64(kept) + own.Buffers
}
