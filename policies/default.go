package policies

import (
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// Default returns a registry of the policies that llmsim ships.
func Default() *Registry {
	return &Registry{
		Batching:  Family[sim.Scheduler]{Kind: "batching policy", Policies: []Policy[sim.Scheduler]{vllmV1()}},
		Memory:    Family[sim.Memory]{Kind: "memory policy", Policies: memoryPolicies()},
		Routing:   Family[sim.Router]{Kind: "routing policy", Policies: routingPolicies()},
		Admission: Family[sim.Admission]{Kind: "admission policy", Policies: admissionPolicies()},
		Scaling:   Family[sim.Scaler]{Kind: "scaling policy", Policies: scalingPolicies()},
	}
}

func vllmV1() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name:   "vllm-v1",
		Doc:    "one token budget for decodes and chunked prefills; the newest is preempted and recomputed",
		Source: "vllm/v1/core/sched/scheduler.py, v0.15",
		Params: []Param{
			{Name: "max-sequences", Doc: "sequences in a batch (max_num_seqs)", Default: "256"},
			{Name: "token-budget", Doc: "tokens in a step (max_num_batched_tokens)", Default: "8192"},
			{Name: "chunk-limit", Doc: "prompt tokens of one request in a step (long_prefill_token_threshold); 0 for no limit", Default: "0"},
		},
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			return batching.NewVLLMV1(v.Count("max-sequences"), v.Count("token-budget"), v.Count("chunk-limit"))
		},
	}
}
