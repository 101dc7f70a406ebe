package engines

import (
	"fmt"
	"strconv"

	"github.com/llmsim/llmsim/internal/launch/options"
	registry "github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/policies"
)

// VLLMBehindSidecar is the port of vLLM in a pod where llm-d's proxy has vLLM's own.
const VLLMBehindSidecar = 8200

// optsIn is the versions of vLLM whose connectors between pools work with the manager of hybrid
// caches (vllm-project/vllm#35758), and turn it off unless they are told not to (#41830).
func optsIn() (r registry.Range) {
	r.From, _ = registry.ParseVersion("0.19")
	r.Below, _ = registry.ParseVersion("0.20.1")
	return r
}

// vllm describes vLLM: https://docs.vllm.ai/en/v0.15.1/cli/serve. Dynamo's worker takes vLLM's own
// options without a server's (components/src/dynamo/vllm/args.py at 000a36a7, backend_args.py).
func vllm() *Engine {
	return &Engine{
		Name: "vllm", Port: 8000, preset: "vllm", Waiting: "vllm:num_requests_waiting",
		Running: "vllm:num_requests_running", start: []string{"vllm", "serve"},
		express: expressVLLM, interpret: interpretVLLM,
		Dynamo: Dynamo{Module: "dynamo.vllm", Image: "vllm-runtime", Version: "0.19.0"},
		programs: []string{"vllm serve", "python -m vllm.entrypoints.openai.api_server",
			"python -m dynamo.vllm", "python -m vllm.entrypoints.api_server"},
	}
}

func expressVLLM(d *Replica) options.Terms {
	t := d.common()
	d.setLimit(t, policies.Tokens)
	if d.Parallelism.Expert > 1 {
		t["expert-parallel"] = "true"
	}
	t.Degree("parallelism.decode-context", d.Parallelism.Context)
	if d.Parallelism.Redundant > 0 {
		t["balanced"] = "true"
	}
	t["memory.utilization"] = fmt.Sprint(d.Memory.Utilization)
	if d.Batching.Policy == "priority" {
		t["batching.policy"] = "priority"
	}
	t.Set("memory.block-size", d.Memory.Params["block-size"])
	if block, err := strconv.Atoi(d.Memory.Params["block-size"]); err == nil && block > 0 {
		t.Set("rank-blocks", strconv.Itoa(d.tokens()/block))
	}
	switch policy := d.Memory.Policy; {
	case policy == "hybrid": // as vLLM does it by itself
	case caches(policy):
		t["memory.policy"] = "prefix-cache"
	default:
		t["memory.policy"] = "paged"
	}
	if d.Role == "mixed" && d.setHostMemory(t, d.Ranks()) {
		t["offload-backend"] = "native"
		if d.Memory.Policy == "lmcache" {
			t["offload-backend"] = "lmcache"
		}
	}
	t.Set("engine.weights", d.asksWeights())
	if !d.Engine.Eager && d.Given("engine.prompt-graphs") {
		t.Set("engine.prompt-graphs", d.Engine.PromptGraphs)
	}
	d.expressDrafter("vllm", t)
	if d.Role != "mixed" && d.Memory.Policy == "hybrid" {
		t["hybrid-manager"] = "true"
	}
	if d.Role == "decode" {
		t["port"] = strconv.Itoa(VLLMBehindSidecar)
	}
	return t
}

// interpretVLLM turns what vLLM's flags mean together into keys.
func interpretVLLM(r *Reading) {
	r.interpretDrafter("vllm")
	_, spread := r.Take("expert-parallel")
	tensor, data := r.Number("parallelism.tensor", 1), r.Number("parallelism.data", 1)
	if blocks := r.Number("rank-blocks", 0); blocks > 0 {
		r.Set("memory.tokens", strconv.Itoa(blocks*r.Number("memory.block-size", 16)))
	}
	r.Take("rank-blocks")
	// Without the manager of hybrid caches, layers with windows keep all tokens.
	manager, told := r.Take("hybrid-manager")
	if v := r.Version(); r.Terms["pool"] != "" && !told && optsIn().Has(v) && !v.IsZero() {
		manager = "false"
	}
	if manager == "false" {
		r.keepsWhole("prefix-cache", "the manager of hybrid caches is off, which "+
			"--no-disable-hybrid-kv-cache-manager turns on")
	}
	ranks := 1
	if data > 1 && (spread || r.experts()) {
		ranks = data
	}
	r.lmcache(tensor*r.Number("parallelism.pipeline", 1), ranks)
	policy := "vllm-offload"
	if backend, _ := r.Take("offload-backend"); backend == "lmcache" {
		policy = "lmcache"
		r.Set("memory.policy", policy)
	}
	r.offloads(policy, ranks)
	switch {
	case spread && data > 1: // the experts are spread over all accelerators
		r.OfAllRanks(data, "memory.tokens")
	case spread && tensor > 1:
		r.Set("parallelism.expert", strconv.Itoa(tensor))
	case data > 1 && r.experts(): // each accelerator has a slice of all experts
		r.Set("parallelism.expert", "1")
		r.OfAllRanks(data, "memory.tokens")
	case data > 1:
		r.Take("parallelism.data")
		r.Set("replicas", strconv.Itoa(data))
		r.Note("--data-parallel-size without experts is read as %d replicas", data)
	}
	r.cutsPrompts()
}

// cutsPrompts sets whether the scheduler of version 0 cuts prompts, and the token budget that
// follows from it (vllm/config.py, v0.6). The one of version 1 cuts them in a scenario.
func (r *Reading) cutsPrompts() {
	cuts, given := r.Take("batching.chunked-prefill")
	release, err := registry.Find("vllm", r.Version().String())
	old := r.Terms["engine.preset"] == "vllm-v0" || err == nil && release.Preset == "vllm-v0"
	switch {
	case !given:
		return
	case !old && cuts == "false":
		r.Note("%s: prompts are simulated as cut to batching.token-budget all the same",
			r.Flags["batching.chunked-prefill"])
		return
	case !old:
		return
	}
	r.Set("batching.chunked-prefill", cuts)
	if _, given := r.Terms["batching.token-budget"]; given {
		return
	}
	context := r.Number("engine.max-model-len", 0)
	if r.Model != nil && context == 0 {
		context = r.Model.MaxContext
	}
	smaller, _ := registry.ParseVersion("0.6.5")
	switch v := r.Version(); {
	case cuts == "false": // so that a step has room for the longest prompt
		r.Set("batching.token-budget", strconv.Itoa(max(2048, context)))
	case !v.IsZero() && v.Compare(smaller) < 0:
		r.Set("batching.token-budget", "512")
	default:
		r.Set("batching.token-budget", "2048")
	}
}
