package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

var (
	attentionColumns = []string{"batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim",
		"kv_cache_dtype", "step", "latency"}
	mlaColumns = []string{"kv_cache_dtype", "num_heads", "batch_size", "isl", "step",
		"latency"}
)

// Attention is that of prompts or of sequences that decode.
var (
	readContextAttention    = kernelReader("attention_prefill", attentionKernel, contextStep)
	readGenerationAttention = kernelReader("attention_decode", attentionKernel, generationStep)
	readContextMLA          = kernelReader("attention_prefill", mlaKernel, contextStep)
	readGenerationMLA       = kernelReader("attention_decode", mlaKernel, generationStep)
)

// kernelReader returns what reads a table of a kernel of that name.
func kernelReader(name string, kernel func(r *row, name string) *operator,
	step func(*row) *sim.Step) func(*catalogs, *table) []experiment {
	return func(c *catalogs, t *table) []experiment {
		return readOperators(c, t, func(r *row) (*operator, *sim.Step) {
			return kernel(r, name), step(r)
		})
	}
}

func attentionKernel(r *row, name string) *operator {
	heads, kvHeads, headDim := r.count("num_heads"), r.count("num_key_value_heads"),
		r.count("head_dim")
	o := &operator{names: []string{name}, shape: fmt.Sprintf("%d heads of %d, %d KV heads", heads,
		headDim, kvHeads), variant: "KV " + r.text("kv_cache_dtype")}
	o.kv = r.format("kv_cache_dtype")
	o.model = oneLayer("attention", 1, heads, kvHeads, headDim)
	if window := int(r.optional("window_size", 0)); window > 0 {
		o.model.Attends().Window = window
		o.shape += fmt.Sprintf(", window %d", window)
	}
	return o
}

// mlaKernel has the widths of DeepSeek-V3 (arXiv:2412.19437, section 4.2). num_heads is what one of
// tp_size GPUs has.
func mlaKernel(r *row, name string) *operator {
	heads := r.count("num_heads")
	o := &operator{names: []string{name}, shape: fmt.Sprintf("%d heads", heads), variant: "KV " +
		r.text("kv_cache_dtype")}
	o.kv = r.format("kv_cache_dtype")
	o.model = oneLayer("mla", 7168, heads, heads, 192)
	o.model.Groups[0].Mixer = &models.MLA{Heads: heads, QueryRank: 1536, KVRank: 512, RopeDim: 64,
		NopeDim: 128, ValueDim: 128}
	return o
}

// contextStep computes prompts of isl tokens after step cached ones.
func contextStep(r *row) *sim.Step {
	return prefill(r.batch("batch_size"), r.count("isl"), r.whole("step", 0))
}

// generationStep decodes one token each over isl + step cached ones.
func generationStep(r *row) *sim.Step {
	return decode(r.batch("batch_size"), r.count("isl")+r.whole("step", 0))
}
