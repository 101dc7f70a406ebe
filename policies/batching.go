package policies

import (
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// batchingPolicies returns the entries of package batching, the default first.
func batchingPolicies() []Policy[sim.Scheduler] {
	return []Policy[sim.Scheduler]{
		vllmV1(), vllmV0(), sarathi(), orca(), trtllm(), sglang(), static(), dynamic(),
		sjf(), srtf(), mlfq(), priority(), edf(), vtc(),
	}
}

// with returns parameters of several policies and parameters of one.
func with(shared []Param, own ...Param) []Param { return append(shared, own...) }

func maxSequences() []Param {
	return []Param{{Name: "max-sequences", Doc: "sequences in a batch (max_num_seqs)",
		Default: "256"}}
}

func tokenBudget() []Param {
	return with(maxSequences(),
		Param{Name: "token-budget", Doc: "tokens in a step (max_num_batched_tokens)",
			Default: "8192"})
}

func chunkLimit() []Param {
	return with(tokenBudget(),
		Param{Name: "chunk-limit",
			Doc: "prompt tokens of one request in a step (long_prefill_token_threshold); 0 for " +
				"no limit", Default: "0"})
}

func limits(v Values) batching.Limits {
	return batching.Limits{MaxSequences: v.Count("max-sequences"),
		TokenBudget: v.Count("token-budget"), ChunkLimit: v.Count("chunk-limit")}
}

// preemption returns the parameter that decides what happens to the KV cache of sequences that give
// way.
func preemption() Param {
	return Param{
		Name: "preemption", Doc: "whether the KV cache of sequences that give way is " +
			"computed again " +
			"or swapped out to host memory",
		Default: "recompute", Kind: Word, Words: []string{"recompute", "swap"},
	}
}

// swaps reads the parameter of preemption, and refuses what the deployment does not have.
func swaps(d Deployment, v Values) (bool, error) {
	if v.Word("preemption") == "recompute" {
		return false, nil
	}
	if d.HostTokens == 0 {
		return false, &ParamError{
			"preemption", "swap needs host memory for KV caches: set memory.swap, such as 16GiB, " +
				"or use recompute"}
	}
	return true, nil
}

// Parameters of other batching policies, and why a policy does not have them.
const (
	wholePrompts = "it computes whole prompts; vllm-v1, sarathi and trtllm (chunked-context) " +
		"compute chunks"
	noTokenBudget = "it bounds the requests in a batch, not the tokens in a step; vllm-v1 and " +
		"sarathi have a token budget"
	recomputes = "it computes the KV cache of sequences that give way again; vllm-v0, " +
		"srtf, mlfq, priority and edf can swap"
)

// requestLevel refuses what policies do not have that bound requests, and not tokens.
func requestLevel() map[string]string {
	return map[string]string{"chunk-limit": wholePrompts, "chunk": wholePrompts,
		"token-budget": noTokenBudget, "preemption": recomputes}
}

func displace() Param {
	return Param{Name: "displace",
		Doc: "whether one that waits takes the place of one that runs and is behind it " +
			"in order",
		Default: "false", Kind: Flag}
}

func vllmV1() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "vllm-v1",
		Doc: "one token budget for decodes and chunked prefills; the newest is preempted and " +
			"recomputed",
		Source: "vllm/v1/core/sched/scheduler.py, v0.15",
		Params: with(chunkLimit(), Param{Name: "prefill-interval",
			Doc: "steps from one with prompts to the next while others decode " +
				"(prefill_schedule_interval)", Default: "1"}),
		Refuses: map[string]string{"preemption": recomputes},
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			l := limits(v)
			c, err := batching.NewVLLMV1(l.MaxSequences, l.TokenBudget, l.ChunkLimit)
			if err == nil {
				err = c.SpacePrompts(v.Count("prefill-interval"))
			}
			return c, err
		},
	}
}

func vllmV0() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "vllm-v0",
		Doc: "whole prompts in steps of their own, before decodes; the newest is preempted " +
			"and recomputed or swapped out",
		Source: "Kwon et al., PagedAttention, SOSP 2023, section 4.5; " +
			"vllm/core/scheduler.py, v0.5",
		Params: with(tokenBudget(),
			Param{Name: "watermark", Doc: "share of KV memory that newcomers leave free",
				Default: "0.01", Kind: Number}, preemption()),
		Refuses: map[string]string{"chunk-limit": wholePrompts, "chunk": wholePrompts},
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			swap, err := swaps(d, v)
			if err != nil {
				return nil, err
			}
			return batching.NewVLLMV0(v.Count("max-sequences"), v.Count("token-budget"),
				v.Number("watermark"), swap)
		},
	}
}

func sarathi() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "sarathi",
		Doc: "stall-free batching: decodes in every step, and chunks of prompts in what they " +
			"leave of a token budget",
		Source: "Agrawal et al., Sarathi-Serve, OSDI 2024, algorithm 3 and table 4",
		Params: []Param{
			{Name: "max-sequences", Doc: "sequences in a batch", Default: "128"},
			{Name: "token-budget", Doc: "tokens in a step", Default: "512"},
			{Name: "mode", Doc: "combined, or one of its two ideas alone", Default: "combined",
				Kind: Word, Words: []string{"combined", "hybrid-only", "chunked-only"}},
		},
		Refuses: map[string]string{"preemption": recomputes},
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			n, budget := v.Count("max-sequences"), v.Count("token-budget")
			switch v.Word("mode") {
			case "hybrid-only":
				return batching.NewHybridOnly(n, budget)
			case "chunked-only":
				return batching.NewChunkedOnly(n, budget)
			}
			return batching.NewSarathi(n, budget)
		},
	}
}

func orca() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "orca",
		Doc: "iteration-level: requests join and leave between steps, with whole prompts " +
			"beside decodes",
		Source: "Yu et al., Orca, OSDI 2022, sections 3 and 4",
		// The paper varies the batch; the same number as Sarathi's, comparisons show the policies
		// alone.
		Params:  []Param{{Name: "max-batch", Doc: "requests in a batch", Default: "128"}},
		Refuses: requestLevel(),
		Advice: func(memory string) string {
			if memory == "contiguous" {
				return ""
			}
			return "orca reserves KV memory for the whole request, as the memory policy " +
				"contiguous does; with " + memory + ", requests give way where memory is short"
		},
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			return batching.NewOrca(v.Count("max-batch"))
		},
	}
}

func maxOutput() Param {
	return Param{Name: "max-output",
		Doc: "output tokens for which every request asks room (max_tokens); 0 for just what it " +
			"generates", Default: "0"}
}

func trtllm() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "trtllm",
		Doc: "in-flight batching of TensorRT-LLM: whole prompts beside decodes, with room for " +
			"all to finish or as many as fit",
		Source: "TensorRT-LLM, capacityScheduler.cpp and microBatchScheduler.cpp, v0.15",
		Params: []Param{
			{Name: "max-sequences", Doc: "sequences in a batch (max_batch_size)", Default: "256"},
			{Name: "token-budget", Doc: "tokens in a step (max_num_tokens)", Default: "8192"},
			{Name: "capacity", Doc: "the capacity policy", Default: "guaranteed-no-evict",
				Kind: Word, Words: []string{"guaranteed-no-evict", "max-utilization"}},
			{Name: "chunked-context",
				Doc:     "whether prompts are cut into chunks (enable_chunked_context)",
				Default: "false", Kind: Flag},
			maxOutput(),
			{Name: "wait-steps", Doc: "most decode steps for which newcomers wait for others " +
				"(batch_wait_timeout_iters)", Default: "0"},
			{Name: "wait-tokens", Doc: "share of the token budget with which they wait no longer " +
				"(batch_wait_max_tokens_ratio)", Default: "0", Kind: Number},
			{Name: "rank-wait", Doc: "most steps for which prompts wait until every " +
				"data-parallel rank has one (attention_dp_config)", Default: "0"},
		},
		Refuses: map[string]string{"preemption": recomputes},
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			n, budget, chunked := v.Count("max-sequences"), v.Count("token-budget"),
				v.Flag("chunked-context")
			wait := batching.BatchWait{Steps: v.Count("wait-steps"),
				Tokens: v.Number("wait-tokens")}
			if steps := v.Count("rank-wait"); steps > 0 {
				wait.Ranks = batching.RankWait{Ranks: d.Ranks, Steps: steps}
			}
			if v.Word("capacity") == "guaranteed-no-evict" {
				return batching.NewTRTLLMNoEvict(n, budget, chunked, wait, v.Count("max-output"))
			}
			if v.Count("max-output") > 0 {
				return nil, &ParamError{
					"max-output",
					"max-utilization reserves nothing for answers: leave it at 0, or use " +
						"guaranteed-no-evict"}
			}
			return batching.NewTRTLLMMaxUtilization(n, budget, chunked, wait)
		},
	}
}

func sglang() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "sglang",
		Doc: "prompts before decodes, the longest cached prefix first, admitted by a falling " +
			"ratio of new tokens",
		Source: "Zheng et al., SGLang, NeurIPS 2024, section 3; " +
			"sglang/srt/managers/schedule_policy.py, v0.4",
		Params: []Param{
			{Name: "max-sequences", Doc: "sequences in a batch (max_running_requests)",
				Default: "256"},
			{Name: "chunk", Doc: "prompt tokens in a step (chunked_prefill_size)", Default: "8192"},
			{Name: "new-token-ratio",
				Doc:     "share of the output still to come that is taken as used at first",
				Default: "0.7", Kind: Number},
			maxOutput(),
			{Name: "receive-interval", Doc: "decode steps between two looks at what arrived " +
				"(scheduler_recv_interval)", Default: "1"},
		},
		Refuses: map[string]string{"preemption": recomputes},
		Advice: func(memory string) string {
			switch memory {
			case "paged", "sliding-window", "contiguous":
				return "sglang starts the longest cached prefix first, and the memory policy " +
					memory + " caches none: the order is that of arrival; use radix"
			}
			return ""
		},
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			return batching.NewSGLang(v.Count("max-sequences"), v.Count("chunk"),
				v.Number("new-token-ratio"), v.Count("max-output"), v.Count("receive-interval"))
		},
	}
}

func batchSize() []Param {
	return []Param{
		{Name: "batch-size", Doc: "most sequences in a batch", Default: "8"},
		{Name: "prompts", Doc: "whether prompts are padded to the longest of a batch, computed " +
			"each for itself, or together as far as the shortest goes and then token by token",
			Default: "padded", Kind: Word, Words: []string{"padded", "packed", "shortest"}},
		{Name: "alone", Doc: "whether a batch has the whole pipeline to itself; otherwise each " +
			"stage may have one", Default: "false", Kind: Flag},
	}
}

// newStatic makes a static scheduler from the parameters that its two policies share.
func newStatic(v Values, delay sim.Time) (sim.Scheduler, error) {
	prompts := map[string]batching.Prompts{"padded": batching.Padded, "packed": batching.Packed,
		"shortest": batching.Shortest}
	return batching.NewStatic(v.Count("batch-size"), delay, prompts[v.Word("prompts")],
		v.Flag("alone"))
}

func static() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "static",
		Doc: "request-level: a batch runs until all in it are complete, and answers are " +
			"returned together",
		Source: "FasterTransformer, as described by Yu et al., Orca, OSDI 2022, section 2; " +
			"shortest: gpt.h and gpt_sample.py of its v4.0, 2021",
		Params:  batchSize(),
		Refuses: requestLevel(),
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			return newStatic(v, 0)
		},
	}
}

func dynamic() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "dynamic",
		Doc:  "static batches that wait to be full, up to a time after the first request",
		Source: "NVIDIA Triton Inference Server, dynamic batcher: max_batch_size, " +
			"max_queue_delay_microseconds",
		Params: with(batchSize(),
			Param{Name: "max-delay", Doc: "how long the first request waits for others",
				Default: "100ms", Kind: Duration}),
		Refuses: requestLevel(),
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			return newStatic(v, v.Duration("max-delay"))
		},
	}
}
