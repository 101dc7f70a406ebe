package validation

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
)

// planned predicts figures from how the memory of the server is divided.
func (t *trial) planned(figures func(*steptime.MemoryPlan) map[string]float64) {
	t.shown = "The row's figures are sizes of this server's KV cache: llmsim memory FILE"
	t.steps = func(p *accuracy.Physics) (func(*part) map[string]float64, error) {
		made, err := t.served()
		if err != nil {
			return nil, err
		}
		server, err := made.fitting(p)
		return func(*part) map[string]float64 { return figures(&server.Plan) }, err
	}
}

// The blocks were resolved by vLLM servers with the limits and the version of the vLLM runs.
func kvBlockRow(_ *catalogs, r *row, t *trial) string {
	r.required("gpu_memory_utilization")
	t.planned(func(plan *steptime.MemoryPlan) map[string]float64 {
		return map[string]float64{"KV blocks": float64(plan.Blocks)}
	})
	t.Name = fmt.Sprintf("utilisation %g", t.Memory.Utilization)
	return ""
}

// lastPagedTokens is the last release known to log the pages of one group as its tokens (a start of
// v0.20.0 does, one of v0.25.1 does not).
const lastPagedTokens = "0.20.0"

// What servers logged of their caches when they started. An empty cell is the engine's default.
// The bytes are of the first rank, and the tokens of the rank with the least room: the last stage
// of a pipeline. Where layers of several kinds share pages, vLLM logged the pages of one group of
// layers as tokens, and later the longest contexts times how many of them it expects to run.
func kvCapacityRow(c *catalogs, r *row, t *trial) string {
	used, before := r.figure("weights_gib")+r.figure("kv_gib"), 0.0
	_, err := fmt.Sscanf(r.text("note"), "avail before/after weights %f/", &before)
	switch {
	case err == nil && before < t.accelerator.Memory/(2<<30):
		return "other programs had most of the memory"
	case r.text("gpu") == "A100" && used < 40:
		t.accelerator, err = c.accelerator("A100 40GB")
		if err != nil {
			r.fail(err)
		}
	}
	form, named := models.ReadRelease(r.text("model"))
	switch {
	case r.text("weights_format") != "":
	case named && form.Weights != "":
		t.weights = form.Weights
	case t.model.DType != "":
		t.weights = t.model.DType
	}
	logged, said := r.figure("weights_gib"), float64(t.model.WeightBytesPerGPU(t.weights,
		t.Parallelism.Tensor, 1))/(1<<30)
	if (t.weights == hardware.INT4 || t.weights == hardware.FP4) && logged > 1.25*said {
		return "more of the checkpoint is in 16 bits than its name says"
	}
	share, windowed := parseStartFlags(r.text("other_flags")).number("swa_full_tokens_ratio")
	switch k := t.model.SequenceState(1, t.kv); {
	case windowed && t.Engine.Preset == "sglang":
		t.Memory.WindowShare, t.Memory.Policy = share, "radix"
	case engines.Of(t.Engine.Preset) == "vllm" && k.Windowed+k.Fixed > 0:
		t.Memory.Policy = "hybrid"
	}
	// vLLM counts how many contexts run while a step computes so many tokens of each.
	step, contexts := int(r.figure("max_num_batched_tokens")), 0.0
	_, note, _ := strings.Cut(r.text("note"), "max concurrency ")
	if _, err := fmt.Sscanf(note, "%fx", &contexts); err == nil && step > 0 {
		t.measured = append(t.measured, accuracy.Measurement{Quantity: "KV contexts",
			Unit: "sequences", Value: contexts})
	}
	version, _ := engines.ParseVersion(r.text("version"))
	last, _ := engines.ParseVersion(lastPagedTokens)
	t.planned(func(plan *steptime.MemoryPlan) map[string]float64 {
		figures := map[string]float64{}
		k := t.model.SequenceState(1, t.kv)
		pages := t.model.Pages(t.Parallelism.Tensor, t.kv, 16)
		switch {
		case k.Windowed == 0 && k.Fixed == 0 || t.Engine.Preset == "sglang":
			figures["KV tokens"] = float64(plan.Tokens)
			figures["KV contexts"] = float64(plan.Tokens) / float64(plan.ContextTokens)
		case pages.Bytes > 0 && version.Compare(last) <= 0:
			figures["KV tokens"] = float64(pages.Logged(plan.KV))
			fallthrough
		case pages.Bytes > 0:
			figures["KV contexts"] = plan.KV / pages.Bytes /
				float64(pages.Of(plan.ContextTokens, step))
		}
		if t.Parallelism.Pipeline == 1 {
			figures["KV memory"] = plan.KV / (1 << 30)
		}
		return figures
	})
	t.Name = r.text("id")
	return ""
}
