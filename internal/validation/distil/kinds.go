// Package distil turns tables of measured kernels into the few constants that the program ships of
// each engine, accelerator and number format, and says how well their forms hold on kernels of
// shapes that were left out. It also compares the cost of each kind of token mixing with measured
// kernels and attention modules.
package distil

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/sim"
)

// table says which kind of mixer a table has, and how its rows are read: false leaves one out.
// whole reports whether each row of a table is a time of its own; in other tables kernels add up.
type mixerTable struct {
	kind  string
	whole bool
	read  func(r *measured.Row) (mixerKernel, bool)
}

// Parts of a layer, by the beginnings of operators' names.
var (
	attentionOnly = []string{"attention_"}
	wholeModule   = []string{"attention_", "q_a", "q_b", "kv_", "qkv", "index_", "out",
		"elementwise"}
)

// kinds returns the tables that are about mixers, by name.
func kinds() map[string]mixerTable {
	return map[string]mixerTable{
		"gdn":    {kind: "gated delta net", read: gatedDelta},
		"kda":    {kind: "Kimi delta attention", read: kimiDelta},
		"mamba2": {kind: "Mamba-2", read: mamba2},
		"context_mla": {kind: "latent attention", whole: true,
			read: latent(attentionOnly, prompts)},
		"generation_mla": {kind: "latent attention", whole: true,
			read: latent(attentionOnly, decodes)},
		"mla_context_module": {kind: "latent attention, module", whole: true,
			read: latent(wholeModule, prompts)},
		"mla_generation_module": {kind: "latent attention, module", whole: true,
			read: latent(wholeModule, decodes)},
		"dsa_context_module": {kind: "sparse latent attention, module", whole: true,
			read: sparseLatent(prompts)},
		"dsa_generation_module": {kind: "sparse latent attention, module", whole: true,
			read: sparseLatent(decodes)},
		"msa_context_module": {kind: "sparse attention (MiniMax-M3), module", whole: true,
			read: sparseSoftmax(prompts)},
		"msa_generation_module": {kind: "sparse attention (MiniMax-M3), module", whole: true,
			read: sparseSoftmax(decodes)},
		"mhc_module": {kind: "hyper-connections", read: streams},
	}
}

// prompts is a step of prompts of isl tokens after step cached ones, decodes one of sequences that
// decode over isl+step tokens.
func prompts(r *measured.Row) *sim.Step {
	s := &sim.Step{}
	for range r.Count("batch_size") {
		s.Prefill = append(s.Prefill,
			sim.Chunk{New: r.Count("isl"), Cached: int(r.Number("step", 0)), Last: true})
	}
	return s
}

func decodes(r *measured.Row) *sim.Step {
	n := r.Count("batch_size")
	context := r.Count("isl") + int(r.Number("step", 0))
	return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n) * int64(context)}
}

// layer returns a model of one layer that is the mixer and as good as nothing else.
func layer(name string, hidden int, mixer models.Mixer) func() *models.Architecture {
	return func() *models.Architecture {
		return &models.Architecture{
			Name: name, Hidden: hidden, Vocab: 8, MaxContext: 1 << 24, DType: hardware.BF16,
			Groups: []models.Group{{Count: 1, Mixer: mixer, Norms: 1}},
		}
	}
}

// recurrentStep reads the phases of linear attention; others, such as verification of drafts, are
// left out.
func recurrentStep(r *measured.Row) (*sim.Step, bool) {
	// moves activations, as other element-wise kernels do
	if strings.Contains(r.Text("kernel_source"), "conv") {
		return nil, false
	}
	n := r.Count("batch_size")
	switch r.Text("phase") {
	case "context":
		s := &sim.Step{}
		for range n {
			s.Prefill = append(s.Prefill, sim.Chunk{New: r.Count("seq_len"), Last: true})
		}
		return s, true
	case "generation":
		return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n)}, true
	}
	return nil, false
}

// delta reads linear attention with the delta rule, whose states are in 32 bits.
func delta(kind models.RecurrentKind) func(r *measured.Row) (mixerKernel, bool) {
	return func(r *measured.Row) (mixerKernel, bool) {
		step, ok := recurrentStep(r)
		if !ok {
			return mixerKernel{}, false
		}
		m := &models.Recurrent{
			Kind: kind, Heads: r.Count("num_v_heads"), KeyHeads: r.Count("num_k_heads"),
			KeyDim:   r.Count("head_k_dim"),
			ValueDim: r.Count("head_v_dim"), Conv: r.Count("d_conv"), GateRank: 128,
			StateType: hardware.FP32,
		}
		return mixerKernel{
			shape: fmt.Sprint(*m), layer: layer(string(kind), r.Count("d_model"), m), step: step,
			parts:   attentionOnly,
			weights: hardware.BF16, kv: hardware.BF16,
		}, true
	}
}

func gatedDelta(r *measured.Row) (mixerKernel, bool) { return delta(models.GatedDeltaNet)(r) }
func kimiDelta(r *measured.Row) (mixerKernel, bool)  { return delta(models.KimiDelta)(r) }

func mamba2(r *measured.Row) (mixerKernel, bool) {
	step, ok := recurrentStep(r)
	if !ok {
		return mixerKernel{}, false
	}
	m := &models.Recurrent{
		Kind: models.Mamba2, Heads: r.Count("nheads"), KeyHeads: r.Count("n_groups"),
		KeyDim:   r.Count("d_state"),
		ValueDim: r.Count("head_dim"), Conv: r.Count("d_conv"), StateType: hardware.FP32,
	}
	return mixerKernel{
		shape: fmt.Sprint(*m), layer: layer("mamba-2", r.Count("d_model"), m), step: step,
		parts:   attentionOnly,
		weights: hardware.BF16, kv: hardware.BF16,
	}, true
}

// formats reads the number formats of products and cache; what is not computed in 16 bits is left
// out of attention.
func formats(r *measured.Row) (weights, kv hardware.DType, ok bool) {
	weights, kv = hardware.BF16, hardware.BF16
	switch r.Text("gemm_type") {
	case "", "bfloat16":
	case "fp8_block":
		weights = hardware.FP8Block
	default:
		return weights, kv, false
	}
	switch r.Text("kv_cache_dtype") {
	case "bfloat16", "float16":
	case "fp8":
		kv = hardware.FP8
	default:
		return weights, kv, false
	}
	return weights, kv, true
}

// latent reads multi-head latent attention with the widths of DeepSeek-V3 (arXiv:2412.19437,
// section 4.2).
func latent(parts []string, step func(*measured.Row) *sim.Step) func(r *measured.Row) (mixerKernel,
	bool) {
	return func(r *measured.Row) (mixerKernel, bool) {
		weights, kv, ok := formats(r)
		m := &models.MLA{Heads: r.Count("num_heads"), QueryRank: 1536, KVRank: 512, RopeDim: 64,
			NopeDim: 128, ValueDim: 128}
		return mixerKernel{
			shape: fmt.Sprint(m.Heads), layer: layer("latent attention", 7168, m), step: step(r),
			parts: parts, weights: weights, kv: kv,
		}, ok
	}
}

// sparseLatent reads latent attention with an indexer, with the widths of DeepSeek-V3.2 or GLM-5
// (their config.json).
func sparseLatent(step func(*measured.Row) *sim.Step) func(r *measured.Row) (mixerKernel, bool) {
	return func(r *measured.Row) (mixerKernel, bool) {
		weights, kv, ok := formats(r)
		heads, hidden := r.Count("num_heads"), 7168
		m := &models.MLA{
			Heads: heads, QueryRank: 1536, KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128,
			Indexer: &models.Indexer{Heads: 64, Dim: 128, TopK: 2048},
		}
		if r.Text("architecture") == "GlmMoeDsaForCausalLM" {
			hidden = 6144
			m.QueryRank, m.NopeDim, m.ValueDim, m.Indexer.Heads = 2048, 192, 256, 32
		}
		return mixerKernel{
			shape: fmt.Sprint(heads, hidden), layer: layer("sparse latent attention", hidden, m),
			step: step(r), parts: wholeModule,
			weights: weights, kv: kv,
		}, ok
	}
}

// sparseSoftmax reads attention to chosen blocks, with the widths of MiniMax-M3 (its config.json),
// whose 64 heads share 4 KV heads.
func sparseSoftmax(step func(*measured.Row) *sim.Step) func(r *measured.Row) (mixerKernel, bool) {
	return func(r *measured.Row) (mixerKernel, bool) {
		weights, kv, ok := formats(r)
		heads := r.Count("num_heads")
		m := &models.Softmax{
			Heads: heads, KVHeads: max(1, heads/16), HeadDim: 128, QKNorm: true,
			Indexer: &models.Indexer{Heads: 4, Dim: 128, TopK: 16 * 128, FromInput: true,
				Unweighted: true},
		}
		return mixerKernel{
			shape: fmt.Sprint(heads), layer: layer("sparse attention", 6144, m), step: step(r),
			parts: wholeModule, weights: weights, kv: kv,
		}, ok && heads <= 64
	}
}

// streams reads the mixtures of streams before and after the mixer and the MLP of a layer, which
// add up.
func streams(r *measured.Row) (mixerKernel, bool) {
	n, hidden := r.Count("hc_mult"), r.Count("hidden_size")
	a := func() *models.Architecture {
		m := &models.Softmax{Heads: 1, KVHeads: 1, HeadDim: 8, NoRotary: true}
		return &models.Architecture{
			Name: "streams", Hidden: hidden, Vocab: 8, MaxContext: 1 << 24, DType: hardware.BF16,
			Streams: n, NoFinalNorm: true,
			Groups: []models.Group{{Count: 1, Mixer: m, MLP: &models.Dense{Intermediate: 1}}},
		}
	}
	return mixerKernel{
		shape: fmt.Sprint(n, hidden), layer: a, parts: []string{"streams", "elementwise"},
		weights: hardware.BF16, kv: hardware.BF16,
		step: &sim.Step{Prefill: []sim.Chunk{{New: r.Count("num_tokens")}}},
	}, true
}
