package engines

import (
	"strconv"

	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/policies"
)

// trtllm describes TensorRT-LLM:
// https://nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve/. Dynamo's worker has options
// of its own (components/src/dynamo/trtllm/backend_args.py at 0a6a115c).
func trtllm() *Engine {
	return &Engine{
		Name: "trtllm", Port: 8000, preset: "trtllm", start: []string{"trtllm-serve", "serve"},
		express: expressTRTLLM, interpret: interpretTRTLLM,
		Dynamo: Dynamo{Module: "dynamo.trtllm", Image: "tensorrtllm-runtime",
			Version: "1.3.0rc11"},
		programs: []string{"python -m dynamo.trtllm", "trtllm-serve serve", "trtllm-serve"},
		// What stands before engines, or engines of other commands.
		others: []string{"trtllm-serve disaggregated", "trtllm-serve disaggregated_mpi_worker"},
	}
}

func expressTRTLLM(d *Replica) options.Terms {
	t := d.common()
	d.setLimit(t, policies.Tokens)
	delete(t, "parallelism.data")
	d.ofAllRanks(t)
	t["backend"], t["host"], t["config"] = "pytorch", "0.0.0.0", d.ConfigFile()
	if d.Parallelism.Data > 1 {
		t["attention"] = "true"
	}
	t["memory.kv-share"] = freeShare(&d.Server.Plan)
	t.Set("memory.tokens", strconv.Itoa(d.tokens()*d.Ranks()))
	if d.Given("memory.block-size") {
		t.Set("memory.block-size", d.Memory.Params["block-size"])
	}
	t["memory.policy"] = "paged"
	if caches(d.Memory.Policy) {
		t["memory.policy"] = "prefix-cache"
	}
	d.setHostMemory(t, d.Accelerators())
	// Other policies of batching cut prompts into chunks.
	t["batching.chunked-context"] = strconv.FormatBool(
		d.Batching.Policy != "trtllm" || t["batching.chunked-context"] == "true")
	if t["batching.rank-wait"] != "" {
		t["rank-balance"] = "true"
	}
	// Graphs are captured for all batches that the scenario does not launch kernel by kernel.
	batch := d.Limit(policies.Sequences)
	delete(t, "engine.graph")
	if d.Engine.Graph > 0 && batch > 0 && !d.Engine.Eager {
		t["graph-padding"] = "true"
		t["engine.graph"] = strconv.Itoa(min(batch, d.Engine.Graph))
	}
	if d.Role == "prefill" { // which cannot schedule ahead (examples/disaggregated/README.md)
		t["engine.scheduling"] = "synchronous"
	}
	if d.Role != "mixed" {
		t["transfer"] = "DEFAULT"
	}
	d.expressDrafter("trtllm", t)
	return t
}

// interpretTRTLLM names the preset and its policies, and turns what the flags mean together into
// keys. Blocks of the cache are reused by default (tensorrt_llm/llmapi/llm_args.py, v1.0).
func interpretTRTLLM(r *Reading) {
	r.interpretDrafter("trtllm")
	r.Set("engine.preset", "trtllm")
	r.Set("batching.policy", "trtllm")
	switch policy := r.Terms["memory.policy"]; {
	case policy == "paged":
		r.Take("memory.cpu")
	case r.Terms["memory.cpu"] != "":
		r.offloads("offload", r.Number("parallelism.tensor", 1)*
			r.Number("parallelism.pipeline", 1))
	case r.keepsParts(): // hybrid, which is the scenario's default for such models
		r.Take("memory.policy")
	default:
		r.Set("memory.policy", "prefix-cache")
	}
	if r.Terms["batching.chunked-context"] == "false" {
		r.Take("batching.chunked-context")
	}
	if r.Number("engine.graph", 1) >= r.Number("batching.max-sequences", 0) {
		r.Take("engine.graph")
	}
	if _, transfers := r.Take("transfer"); transfers {
		r.SetPool("cache_transceiver_config", "mixed")
	}
	_, attention := r.Take("attention")
	tensor, expert := r.Number("parallelism.tensor", 1), r.Number("parallelism.expert", 1)
	if n := r.Number("moe-tensor", 0); n > 0 && n*max(expert, tensor/n) != tensor {
		r.Refuse("moe_tensor_parallel_size %d times %d of experts is not --tp_size %d", n, expert,
			tensor)
	} else if n > 0 && expert == 1 {
		expert = tensor / n
		r.Set("parallelism.expert", strconv.Itoa(expert))
	}
	r.Take("moe-tensor")
	switch {
	case attention && tensor > 1:
		r.Set("parallelism.tensor", "1")
		r.Set("parallelism.data", strconv.Itoa(tensor))
		r.OfAllRanks(tensor)
		if r.Take("parallelism.expert"); expert == 1 {
			r.Set("parallelism.expert", "1") // each accelerator has a slice of all experts
		}
	case tensor%expert != 0:
		r.Refuse("--ep_size %d does not divide --tp_size %d", expert, tensor)
	}
}
