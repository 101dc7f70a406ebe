package capacity

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/scenarios"
)

// LaunchCommands returns the command lines that start one replica of a scenario, defaults filled in, under vLLM and under SGLang;
// where prefill and decode are apart, one of each.
// Flags are those of `vllm serve` (v0.15) and `sglang.launch_server` (v0.5).
func LaunchCommands(s *scenarios.Scenario, model *models.Architecture) []string {
	forVLLM, forSGLang := vllm(s, published(s, model)), sglang(s, published(s, model))
	if len(s.Fleet.Pools) == 0 {
		return []string{forVLLM, forSGLang}
	}
	return []string{
		forVLLM + ` --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'`,
		forSGLang + " --disaggregation-mode prefill", forSGLang + " --disaggregation-mode decode",
	}
}

// published returns the name of the model on Hugging Face, or what the scenario calls it.
func published(s *scenarios.Scenario, model *models.Architecture) string {
	for _, alias := range model.Aliases {
		if strings.Contains(alias, "/") {
			return alias
		}
	}
	return s.Model
}

// flags collects a command line.
type flags []string

func (f *flags) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func vllm(s *scenarios.Scenario, model string) string {
	var f flags
	f.add("vllm serve %s", model)
	f.add("--tensor-parallel-size %d", s.Parallelism.Tensor)
	if s.Parallelism.Pipeline > 1 {
		f.add("--pipeline-parallel-size %d", s.Parallelism.Pipeline)
	}
	if s.Parallelism.Expert > 1 {
		f.add("--enable-expert-parallel")
	}
	f.add("--max-model-len %d", s.Engine.MaxModelLen)
	f.add("--gpu-memory-utilization %g", s.Memory.Utilization)
	f.param("--max-num-seqs", s.Batching.Params["max-sequences"])
	f.param("--max-num-batched-tokens", s.Batching.Params["token-budget"])
	if s.Memory.Policy == "paged" {
		f.add("--no-enable-prefix-caching")
	}
	f.formats(s, "--kv-cache-dtype fp8")
	return strings.Join(f, " ")
}

func sglang(s *scenarios.Scenario, model string) string {
	var f flags
	f.add("python -m sglang.launch_server --model-path %s", model)
	f.add("--tp-size %d", s.Parallelism.Tensor)
	if s.Parallelism.Pipeline > 1 {
		f.add("--pp-size %d", s.Parallelism.Pipeline)
	}
	if s.Parallelism.Expert > 1 {
		f.add("--ep-size %d", s.Parallelism.Expert)
	}
	f.add("--context-length %d", s.Engine.MaxModelLen)
	f.add("--mem-fraction-static %g", s.Memory.Utilization)
	f.param("--max-running-requests", s.Batching.Params["max-sequences"])
	f.param("--chunked-prefill-size", s.Batching.Params["token-budget"])
	if s.Memory.Policy == "paged" {
		f.add("--disable-radix-cache")
	}
	f.formats(s, "--kv-cache-dtype fp8_e5m2")
	return strings.Join(f, " ")
}

// param adds a flag where the policy has the parameter.
func (f *flags) param(flag, value string) {
	if value != "" && value != "0" {
		f.add("%s %s", flag, value)
	}
}

// formats adds the number formats that have a flag; others need a checkpoint in that format.
func (f *flags) formats(s *scenarios.Scenario, kv string) {
	if s.Engine.Weights == "fp8" {
		f.add("--quantization fp8")
	}
	if s.Engine.KVCache == "fp8" {
		f.add("%s", kv)
	}
}
