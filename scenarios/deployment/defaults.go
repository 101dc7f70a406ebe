package deployment

import (
	"maps"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
)

// Defaults holds the policies and limits of an engine without further flags.
type Defaults struct {
	Batching, Memory OwnPolicy
	// KVShare is as in Memory.KVShare.
	KVShare float64
}

// OwnPolicy names the policy that an engine has, as policies.Default does, with the parameters in
// which the engine differs from the policy's own defaults.
type OwnPolicy struct {
	Name   string
	Params map[string]string
}

// DefaultsOf returns the defaults of a preset's engine on an accelerator. A preset such as ideal,
// which stands for no engine, has those of vLLM V1 without a prefix cache.
func DefaultsOf(preset string, a *hardware.Accelerator) Defaults {
	switch preset {
	case "vllm-v1", "vllm-v1-sync":
		return Defaults{Batching: OwnPolicy{"vllm-v1", vllmLimits(a)},
			Memory: OwnPolicy{Name: "prefix-cache"}}
	case "vllm-v0", "vllm-2023", "eager-2023":
		return Defaults{Batching: OwnPolicy{Name: "vllm-v0"}, Memory: OwnPolicy{Name: "paged"}}
	case "sglang":
		return Defaults{Batching: OwnPolicy{Name: "sglang"}, Memory: OwnPolicy{Name: "radix"}}
	case "trtllm", "trtllm-tensorrt":
		// tensorrt_llm/llmapi/llm_args.py, v1.0: max_batch_size 2048, max_num_tokens 8192,
		// free_gpu_memory_fraction 0.9.
		return Defaults{
			Batching: OwnPolicy{"trtllm", limits(2048, 8192)}, Memory: OwnPolicy{Name: "paged"},
			KVShare: 0.9,
		}
	}
	return Defaults{Batching: OwnPolicy{Name: "vllm-v1"}, Memory: OwnPolicy{Name: "paged"}}
}

// vllmLimits returns the limits of `vllm serve`: larger ones on accelerators with at least 70 GiB,
// the A100 excepted (vllm/engine/arg_utils.py, v0.12).
func vllmLimits(a *hardware.Accelerator) map[string]string {
	const large = 70 << 30
	if a.Memory >= large && a.Generation != "ampere" {
		return limits(1024, 8192)
	}
	return limits(256, 2048)
}

func limits(sequences, tokens int) map[string]string {
	return map[string]string{
		"max-sequences": strconv.Itoa(sequences), "token-budget": strconv.Itoa(tokens),
	}
}

// Complete returns the name and the parameters of a policy. An empty name becomes the engine's own
// policy. If the policy is the engine's own, missing parameters take the engine's values. A token
// budget below the engine's number of sequences lowers that number, as in vLLM.
func (o *OwnPolicy) Complete(name *string, given map[string]string) map[string]string {
	if *name == "" {
		*name = o.Name
	}
	if *name != o.Name {
		return given
	}
	all := maps.Clone(o.Params)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, given)
	_, sequencesGiven := given["max-sequences"]
	budget, err := strconv.Atoi(all["token-budget"])
	sequences, _ := strconv.Atoi(all["max-sequences"])
	if err == nil && 0 < budget && budget < sequences && !sequencesGiven {
		all["max-sequences"] = all["token-budget"]
	}
	return all
}
