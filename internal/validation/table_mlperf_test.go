package validation

import "testing"

func TestMLPerfEngineFollowsSoftware(t *testing.T) {
	for _, c := range []struct{ generation, software, results, engine, version string }{
		{"hopper", "vLLM v0.15.0-dev; CUDA 13.0", "", "vllm", "0.15.0"},
		{"blackwell", "TensorRT 10.14, TensorRT-LLM feat/1.2-mlpinf, vLLM x", "", "trtllm", "1.2"},
		{"blackwell", "TensorRT 10.14, CUDA 13.1", "", "trtllm", "1.2"},
		{"blackwell", "TensorRT 10.11, CUDA 13.0", "", "trtllm-tensorrt", ""},
		{"hopper", "", "closed/RedHat/results/XE8640_4xH100_vLLM/", "vllm-v1-sync", ""},
		{"cdna4", "ROCm; LLMBoost, Python 3.12", "", "vllm", ""},
		{"cdna3", "vLLM 0.9.0.2.dev108", "", "vllm", "0.9.0"},
	} {
		engine, version := mlperfEngine(c.generation, c.software, c.results)
		if engine != c.engine || version != c.version {
			t.Errorf("%s, %q: %s %q, want %s %q", c.generation, c.software, engine, version,
				c.engine, c.version)
		}
	}
}
