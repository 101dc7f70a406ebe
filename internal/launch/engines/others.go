package engines

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
)

// lmdeploy describes LMDeploy: `lmdeploy serve api_server --help` of 0.9
// (https://lmdeploy.readthedocs.io/en/latest/llm/api_server.html).
func lmdeploy() *Engine {
	return &Engine{
		Name: "lmdeploy", Port: 23333, preset: "lmdeploy",
		program: func(words []string) int {
			if len(words) > 2 && commands.Base(words[0]) == "lmdeploy" &&
				slices.Equal(words[1:3], []string{"serve", "api_server"}) {
				return 3
			}
			return 0
		},
		interpret: func(r *Reading) {
			r.Set("engine.preset", "lmdeploy")
			if backend, _ := r.Take("backend"); backend == "pytorch" {
				r.Note("--backend pytorch is not simulated; it is read as the nearest, " +
					"TurboMind")
			}
		},
	}
}

// llamaCPP describes llama-server of llama.cpp (tools/server/README.md).
func llamaCPP() *Engine {
	return &Engine{
		Name: "llama.cpp", Port: 8080, preset: "llama.cpp",
		program: func(words []string) int {
			if len(words) > 0 && commands.Base(words[0]) == "llama-server" {
				return 1
			}
			return 0
		},
		interpret: func(r *Reading) {
			r.Set("engine.preset", "llama.cpp")
			if r.Number("batching.max-sequences", 1) > 1 {
				r.Note("several slots: llama.cpp is simulated as measured for one user")
			}
		},
	}
}

// tgi describes Hugging Face's Text Generation Inference (docs/source/reference/launcher.md of its
// repository), which no preset simulates: vLLM is the nearest.
func tgi() *Engine {
	return &Engine{
		Name: "tgi", Port: 80, preset: "tgi",
		program: func(words []string) int {
			if len(words) > 0 && commands.Base(words[0]) == "text-generation-launcher" {
				return 1
			}
			return 0
		},
		interpret: func(r *Reading) {
			r.Note("Text Generation Inference is not simulated; the nearest is vLLM, as which it " +
				"is read")
			if weights := r.Terms["engine.weights"]; strings.HasPrefix(weights, "int4") {
				r.Note("--quantize: kernels are vLLM's")
			}
		},
	}
}
