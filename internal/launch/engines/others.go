package engines

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
)

// lmdeploy describes LMDeploy: `lmdeploy serve api_server --help` of 0.9
// (https://lmdeploy.readthedocs.io/en/latest/llm/api_server.html).
func lmdeploy() *Engine {
	return &Engine{
		Name: "lmdeploy", Port: 23333, preset: "lmdeploy",
		programs: []string{"lmdeploy serve api_server"},
		interpret: func(r *Reading) {
			r.Set("engine.preset", "lmdeploy")
			if backend, _ := r.Take("backend"); backend == "pytorch" {
				r.Note("--backend pytorch is not simulated; it is read as the nearest, TurboMind")
			}
			r.sharedHeads()
		},
	}
}

// sharedHeads asks for the size of the KV cache with LMDeploy's --cp where it is larger than the
// one that is simulated: its ranks share the tokens of heads that tensor parallelism alone would
// copy (docs/en/advance/context_parallel.md of InternLM/lmdeploy).
func (r *Reading) sharedHeads() {
	flag := r.Flags["contexts"]
	ranks := r.Number("contexts", 1)
	if r.Take("contexts"); ranks == 1 {
		return
	}
	copies := 1
	if r.Model != nil {
		for _, g := range r.Model.Groups {
			if m, ok := g.Mixer.(*models.Softmax); ok {
				copies = max(copies, r.Number("parallelism.tensor", 1)/max(1, m.KVHeads))
			}
		}
	}
	if times := min(ranks, copies); times > 1 {
		r.Asks = append(r.Asks, options.Ask{Keys: []string{"memory.tokens"}, Words: fmt.Sprintf(
			"%s %d is not simulated: the KV cache has %d times as many tokens as with tensor "+
				"parallelism alone, which keeps %d copies of each head: set memory.tokens, the "+
				"tokens that the engine logs", flag, ranks, times, copies)})
		return
	}
	r.Note("%s %d is read as tensor parallelism alone, whose KV cache is as large", flag, ranks)
}

// llamaCPP describes llama-server of llama.cpp (tools/server/README.md).
func llamaCPP() *Engine {
	return &Engine{
		Name: "llama.cpp", Port: 8080, preset: "llama.cpp", programs: []string{"llama-server"},
		interpret: func(r *Reading) {
			r.Set("engine.preset", "llama.cpp")
			r.interpretDrafter("llama.cpp")
			r.inMemory()
			r.slots()
			switch r.Terms["attention.kernel"] {
			case "naive": // as the preset has it
				r.Take("attention.kernel")
			case "":
				r.Note("attention is simulated without -fa, whose default has been auto since " +
					"August 2025, which is on for GPUs: set attention.kernel=flash")
			}
		},
	}
}

// llamaCPPPython describes the server of llama-cpp-python, which answers one request at a time
// (llama_cpp/server/app.py, settings.py). Its options have the names of llama-server's.
func llamaCPPPython() *Engine {
	e := llamaCPP()
	whole := e.interpret
	e.programs = []string{"python -m llama_cpp.server"}
	e.interpret = func(r *Reading) {
		r.Set("batching.max-sequences", "1")
		r.Set("attention.kernel", cmp.Or(r.Terms["attention.kernel"], "naive"))
		whole(r)
	}
	return e
}

// slots sets the context of a slot from the one of all slots together, which is the size of the KV
// cache. Slots have equal parts of it, or with a unified cache use up to all of it, but no more
// than the model's. By default there are 4 slots with a unified cache, since November 2025
// (ggml-org/llama.cpp, pull request 16736).
func (r *Reading) slots() {
	unified, _ := r.Take("unified")
	slots := r.Number("batching.max-sequences", 0)
	if slots == 0 {
		slots, unified = 4, "true"
		r.Set("batching.max-sequences", "4")
		r.Note("without -np there are 4 slots with one cache, as llama-server starts since " +
			"November 2025; before it had 1: set batching.max-sequences")
	}
	if slots > 1 {
		r.Note("several slots: llama.cpp is simulated as measured for one user")
	}
	context, flag := r.Number("memory.tokens", 0), r.Flags["memory.tokens"]
	if context == 0 {
		return
	}
	if unified != "true" {
		context = max(1, context/slots)
	}
	if r.Model != nil && r.Model.MaxContext > 0 && context > r.Model.MaxContext {
		context = r.Model.MaxContext
		r.Note("%s: a slot has at most the context of the model, %d tokens", flag, context)
	}
	r.Set("engine.max-model-len", strconv.Itoa(context))
	r.Flags["engine.max-model-len"] = flag
	if states := slots * r.stateTokens(); states > 0 {
		r.Set("memory.tokens", strconv.Itoa(r.Number("memory.tokens", 0)+states))
		r.Note("%s: memory.tokens is larger by the states of %d slots, which are as large as %d "+
			"tokens", flag, slots, states)
	}
}

// stateTokens returns how many tokens of the KV cache take as much memory as what a sequence keeps
// whatever its length, which llama.cpp keeps beside the cache, and memory.tokens counts.
func (r *Reading) stateTokens() int {
	if r.Model == nil {
		return 0
	}
	kept := r.Model.SequenceState(1, hardware.DType(cmp.Or(r.Terms["engine.kv-cache"], "bf16")))
	return int(math.Ceil(kept.Fixed / max(1, kept.Growing+kept.Windowed)))
}

// inMemory refuses layers in host memory, and values of another format than keys.
func (r *Reading) inMemory() {
	if _, whole := r.Take("hybrid-manager"); whole {
		r.keepsWhole("paged", "--swa-full")
	}
	given, _ := r.Take("layers")
	layers, err := strconv.Atoi(given)
	if all := r.layers(); given != "" && err == nil && layers >= 0 && all > 0 && layers < all {
		r.Refuse("%s %d: of %d layers the others lie in host memory, which is not simulated",
			r.Flags["layers"], layers, all)
	}
	values, _ := r.Take("cache-of-values")
	keys := r.Terms["engine.kv-cache"]
	if cmp.Or(keys, "fp16") != cmp.Or(values, "fp16") {
		r.Refuse("keys of the KV cache in %s and values in %s are not simulated: give "+
			"-ctk and -ctv one format", cmp.Or(keys, "fp16"), cmp.Or(values, "fp16"))
	}
	if keys == "fp16" || keys == "bf16" {
		r.Take("engine.kv-cache")
	}
}

// tgi describes Hugging Face's Text Generation Inference (docs/source/reference/launcher.md of its
// repository), which no preset simulates: vLLM is the nearest.
func tgi() *Engine {
	return &Engine{
		Name: "tgi", Port: 80, preset: "tgi",
		programs: []string{"text-generation-launcher"},
		interpret: func(r *Reading) {
			r.Note("Text Generation Inference is not simulated; the nearest is vLLM, as which it " +
				"is read")
			if weights := r.Terms["engine.weights"]; strings.HasPrefix(weights, "int4") {
				r.Note("--quantize: kernels are vLLM's")
			}
			// More requests than these are refused, so that a batch has no more either.
			concurrent, given := r.Take("concurrent")
			if n := r.Number("batching.max-sequences", 0); given && n == 0 {
				r.Set("batching.max-sequences", concurrent)
			} else if most, err := strconv.Atoi(concurrent); err == nil && most < n {
				r.Set("batching.max-sequences", concurrent)
			}
		},
	}
}

// nim describes NVIDIA's NIM for LLMs (docs.nvidia.com/nim/large-language-models): an image with a
// model, which runs vLLM, SGLang or TensorRT-LLM by a profile such as
// tensorrt_llm-h100-fp8-tp4-pp1-throughput.
func nim() *Engine {
	return &Engine{
		Name: "nim", Port: 8000, preset: "nim",
		programs: []string{"nim-container"}, // as package commands calls it
		interpret: func(r *Reading) {
			r.Take("image")
			profile, _ := r.Take("profile")
			parts := strings.Split(strings.ReplaceAll(profile, ":", "-"), "-")
			switch parts[0] {
			case "tensorrt_llm":
				r.Set("engine.preset", "trtllm")
				r.Set("batching.policy", "trtllm")
			case "sglang":
				r.Set("engine.preset", "sglang")
				r.Set("batching.policy", "sglang")
			}
			sized := false
			for _, part := range parts[1:] {
				for prefix, term := range map[string]string{"tp": "parallelism.tensor",
					"pp": "parallelism.pipeline"} {
					n, err := strconv.Atoi(strings.TrimPrefix(part, prefix))
					if err != nil || n < 1 || !strings.HasPrefix(part, prefix) {
						continue
					}
					if sized = true; r.Terms[term] == "" {
						r.Set(term, strconv.Itoa(n))
					}
				}
				switch part {
				case "fp8", "bf16", "fp16":
					r.Set("engine.weights", part)
				case "nvfp4":
					r.Set("engine.weights", "fp4")
				}
			}
			if !sized && r.Terms["parallelism.tensor"] == "" {
				r.Note("NIM chooses engine, format and number of GPUs by the GPUs of its " +
					"machine, and is read as vLLM; a profile's name says its choice, such as " +
					"NIM_MODEL_PROFILE=tensorrt_llm-h100-fp8-tp4-pp1-throughput, which " +
					"list-model-profiles prints in the container")
			}
		},
	}
}
