package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

func attentionKernel(r *row) *operator {
	heads, kvHeads, headDim := r.count("num_heads"), r.count("num_key_value_heads"),
		r.count("head_dim")
	o := &operator{names: []string{"attention_"}, shape: fmt.Sprintf("%d heads of %d, %d KV heads",
		heads, headDim, kvHeads), variant: "KV " + r.text("kv_cache_dtype")}
	o.kv = r.format("kv_cache_dtype")
	o.model = oneLayer("attention", 1, heads, kvHeads, headDim)
	if window := int(r.number("window_size|=0")); window > 0 {
		o.model.Attends().Window = window
		o.shape += fmt.Sprintf(", window %d", window)
	}
	return o
}

// mlaKernel has the widths of DeepSeek-V3 (arXiv:2412.19437, section 4.2). num_heads is what one of
// tp_size GPUs has.
func mlaKernel(r *row) *operator {
	heads := r.count("num_heads")
	o := &operator{names: []string{"attention_"}, shape: fmt.Sprintf("%d heads", heads),
		variant: "KV " + r.text("kv_cache_dtype")}
	o.kv = r.format("kv_cache_dtype")
	o.model = oneLayer("mla", 7168, heads, heads, 192)
	o.model.Groups[0].Mixer = &models.MLA{Heads: heads, QueryRank: 1536, KVRank: 512, RopeDim: 64,
		NopeDim: 128, ValueDim: 128}
	return o
}

// prompting is a kernel in a step of prompts of isl tokens after step cached ones.
func prompting(kernel func(*row) *operator) kernelOf {
	return func(r *row) (*operator, *sim.Step) {
		return kernel(r), prefill(r.batch("batch_size"), r.count("isl"), r.whole("step", 0))
	}
}

// decoding is a kernel in a step that decodes one token each over isl + step cached ones.
func decoding(kernel func(*row) *operator) kernelOf {
	return func(r *row) (*operator, *sim.Step) {
		return kernel(r), decode(r.batch("batch_size"), r.count("isl")+r.whole("step", 0))
	}
}

// gemmKernel reads matrix products: the output projection of a layer n wide whose head is k wide.
func gemmKernel(r *row) (*operator, *sim.Step) {
	m, n, k := r.count("m"), r.count("n"), r.count("k")
	o := &operator{names: []string{"out"}, shape: fmt.Sprintf("%d × %d", n, k),
		variant: r.text("gemm_dtype")}
	o.weights = r.format("gemm_dtype")
	o.model = oneLayer("gemm", n, 1, 1, k)
	return o, prefill(1, m, 0)
}

// moeKernel reads the fused kernels of routed experts on one GPU, whose share of them follows from
// the two ways to spread them.
func moeKernel(r *row) (*operator, *sim.Step) {
	return expertKernel(r, &models.MoE{Experts: r.count("num_experts"),
		Active: r.count("topk"), Intermediate: r.count("inter_size")}, r.batch("moe_tp_size"),
		r.batch("moe_ep_size"), r.text("moe_dtype"), r.value("distribution|=balanced"),
		r.count("num_tokens"))
}

// backendKernel reads the same of several back ends, which split each expert over the GPUs and have
// weights in FP8 by block (vllm-project/vllm, pull request 13932: DeepGEMM beside Triton). A
// slice has both projections into the intermediate width beside each other.
func backendKernel(r *row) (*operator, *sim.Step) {
	tensor := r.batch("tensor")
	return expertKernel(r, &models.MoE{Experts: r.count("experts"), Active: r.count("topk"),
		Intermediate: r.count("shard_intermediate_n") / 2 * tensor}, tensor, 1, "fp8_block",
		r.required("backend"), r.count("batch_tokens"))
}

// expertKernel is the kernel of routed experts, each split over tp ranks and spread over ep, with a
// step of the given tokens. Its kind distinguishes it from others of its format.
func expertKernel(r *row, experts *models.MoE, tp, ep int, format, kind string,
	tokens int) (*operator, *sim.Step) {
	hidden := r.count("hidden_size|hidden")
	o := &operator{
		names: []string{"expert_"},
		shape: fmt.Sprintf("%d of %d experts of %d × %d, TP %d, EP %d", experts.Active,
			experts.Experts, hidden, experts.Intermediate, tp, ep),
		variant: format + " " + kind,
	}
	var err error
	if o.weights, err = parseDType(format); err != nil {
		r.fail(err)
	}
	o.Parallelism.Tensor, o.Parallelism.Expert = tp*ep, ep
	o.model = oneLayer("experts", hidden, tp*ep, tp*ep, 1)
	experts.Gated = true
	o.model.Groups[0].MLP = experts
	return o, prefill(1, tokens, 0)
}
