package policies

import (
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// Parameters of other batching policies, and why a policy does not have them.
const (
	wholePrompts = "it computes whole prompts; vllm-v1, sarathi and trtllm (chunked-context) " +
		"compute chunks"
	noTokenBudget = "it bounds the requests in a batch, not the tokens in a step; vllm-v1 and " +
		"sarathi have a token budget"
	recomputes = "it computes the KV cache of sequences that give way again; vllm-v0, " +
		"srtf, mlfq, priority and edf can swap"
)

// batchingPolicies returns the entries of package batching, the default first.
func batchingPolicies() []Policy[sim.Scheduler] {
	recomputed := map[string]string{"preemption": recomputes}
	ofRequests := map[string]string{"chunk-limit": wholePrompts, "chunk": wholePrompts,
		"token-budget": noTokenBudget, "preemption": recomputes}
	return append([]Policy[sim.Scheduler]{
		{
			Name:     "vllm-v1",
			Doc:      `one token budget for decodes and chunked prefills; the newest is preempted and recomputed`,
			Source:   "vllm/v1/core/sched/scheduler.py, v0.15",
			Settings: vllmV1{}, Refuses: recomputed,
		},
		{
			Name:     "vllm-v0",
			Doc:      `whole prompts in steps of their own, before decodes; the newest is preempted and recomputed or swapped out`,
			Source:   `Kwon et al., PagedAttention, SOSP 2023, section 4.5; vllm/core/scheduler.py, v0.5`,
			Settings: vllmV0{},
			Refuses:  map[string]string{"chunk-limit": wholePrompts, "chunk": wholePrompts},
		},
		{
			Name:     "sarathi",
			Doc:      `stall-free batching: decodes in every step, and chunks of prompts in what they leave of a token budget`,
			Source:   "Agrawal et al., Sarathi-Serve, OSDI 2024, algorithm 3 and table 4",
			Settings: sarathi{}, Refuses: recomputed,
		},
		{
			Name:     "orca",
			Doc:      `iteration-level: requests join and leave between steps, with whole prompts beside decodes`,
			Source:   "Yu et al., Orca, OSDI 2022, sections 3 and 4",
			Settings: orca{}, Refuses: ofRequests,
			Advice: func(memory string) string {
				if memory == "contiguous" {
					return ""
				}
				return "orca reserves KV memory for the whole request, as the memory policy " +
					"contiguous does; with " + memory + ", requests give way where memory is short"
			},
		},
		{
			Name:     "trtllm",
			Doc:      `in-flight batching of TensorRT-LLM: whole prompts beside decodes, with room for all to finish or as many as fit`,
			Source:   "TensorRT-LLM, capacityScheduler.cpp and microBatchScheduler.cpp, v0.15",
			Settings: trtllm{}, Refuses: recomputed,
		},
		{
			Name:     "sglang",
			Doc:      `prompts before decodes, by arrival or longest cached prefix, admitted by a falling ratio of new tokens`,
			Source:   `Zheng et al., SGLang, NeurIPS 2024, section 3; sglang/srt/managers/schedule_policy.py, v0.4`,
			Settings: sglang{}, Refuses: recomputed,
		},
		{
			Name:     "lightllm",
			Doc:      `whole prompts in steps of their own, admitted if memory has room for the peak that is foreseen; nothing is evicted`,
			Source:   `LightLLM, as in S-LoRA (Sheng et al., MLSys 2024): slora/server/router/req_queue.py`,
			Settings: lightLLM{},
			Refuses: map[string]string{"chunk-limit": wholePrompts, "chunk": wholePrompts,
				"preemption": recomputes},
		},
		{
			Name:     "static",
			Doc:      `request-level: a batch runs until all in it are complete, and answers are returned together`,
			Source:   `FasterTransformer, as described by Yu et al., Orca, OSDI 2022, section 2; shortest: gpt.h and gpt_sample.py of its v4.0, 2021`,
			Settings: static{}, Refuses: ofRequests,
		},
		{
			Name:     "dynamic",
			Doc:      "static batches that wait to be full, up to a time after the first request",
			Source:   `NVIDIA Triton Inference Server, dynamic batcher: max_batch_size, max_queue_delay_microseconds`,
			Settings: dynamic{}, Refuses: ofRequests,
		},
	}, ordered()...)
}

// ordered returns the entries that are vllm-v1 with another order of requests.
func ordered() []Policy[sim.Scheduler] {
	return []Policy[sim.Scheduler]{
		{
			Name:     "sjf",
			Doc:      "vllm-v1 with the shortest answer first, its length known or predicted",
			Source:   "Fu et al., Efficient LLM Scheduling by Learning to Rank, NeurIPS 2024",
			Settings: sjf{},
		},
		{
			Name:     "srtf",
			Doc:      "vllm-v1 with the fewest tokens to come first, also before running ones",
			Source:   "Schrage, Operations Research 16 (1968); Shahout et al., TRAIL, ICLR 2025",
			Settings: srtf{},
		},
		{
			Name:     "mlfq",
			Doc:      `skip-join multi-level feedback queue: requests that have run for long make way, without knowing lengths`,
			Source:   "Wu et al., FastServe, arXiv:2305.05920, section 4",
			Settings: mlfq{},
		},
		{
			Name:     "priority",
			Doc:      `vllm-v1 with the lowest value of an expression first; as it stands, the highest priority`,
			Source:   "vllm/v1/core/sched/request_queue.py, v0.15; expressions: expr-lang.org",
			Settings: priority{},
		},
		{
			Name:     "edf",
			Doc:      "vllm-v1 with the earliest deadline first; requests without one come last",
			Source:   "Liu and Layland, JACM 20 (1973)",
			Settings: edf{},
		},
		{
			Name:     "vtc",
			Doc:      `vllm-v1 with the tenant first that was served least, by a virtual token counter`,
			Source:   `Sheng et al., Fairness in Serving Large Language Models, OSDI 2024, algorithm 2`,
			Settings: vtc{},
		},
	}
}

type maxSequences struct {
	MaxSequences int `json:"max-sequences" default:"256" engine:"max_num_seqs" role:"sequences" tune:"16.." jsonschema:"sequences in a batch"`
}

type tokenBudget struct {
	maxSequences
	TokenBudget int `json:"token-budget" default:"8192" engine:"max_num_batched_tokens" role:"tokens" tune:"256.." jsonschema:"tokens in a step"`
}

type chunkLimit struct {
	tokenBudget
	ChunkLimit int `json:"chunk-limit" default:"0" engine:"long_prefill_token_threshold" role:"prompt-of-one" tune:"0,512,2048" jsonschema:"prompt tokens of one request in a step; 0 for no limit"`
}

func (c *chunkLimit) limits() batching.Limits {
	return batching.Limits{MaxSequences: c.MaxSequences, TokenBudget: c.TokenBudget,
		ChunkLimit: c.ChunkLimit}
}

// preemption decides what happens to the KV cache of sequences that give way.
type preemption struct {
	Preemption string `json:"preemption" default:"recompute" enum:"recompute,swap" jsonschema:"whether the KV cache of sequences that give way is computed again or swapped out to host memory"`
}

// swaps refuses what the deployment does not have.
func (p *preemption) swaps(d Deployment) (bool, error) {
	if p.Preemption == "swap" && d.HostTokens == 0 {
		return false, &ParamError{
			"preemption", "swap needs host memory for KV caches: set memory.swap, such as 16GiB, " +
				"or use recompute"}
	}
	return p.Preemption == "swap", nil
}

type displace struct {
	Displace bool `json:"displace" default:"false" jsonschema:"whether one that waits takes the place of one that runs and is behind it in order"`
}

type maxOutput struct {
	MaxOutput int `json:"max-output" default:"0" engine:"max_tokens" jsonschema:"output tokens for which every request asks room; 0 for just what it generates"`
}

type vllmV1 struct {
	chunkLimit
	PrefillInterval int `json:"prefill-interval" default:"1" engine:"prefill_schedule_interval" jsonschema:"steps from one with prompts to the next while others decode"`
}

func (s vllmV1) New(Deployment) (sim.Scheduler, error) {
	c, err := batching.NewVLLMV1(s.MaxSequences, s.TokenBudget, s.ChunkLimit)
	if err == nil {
		err = c.SpacePrompts(s.PrefillInterval)
	}
	return c, err
}

type vllmV0 struct {
	tokenBudget
	Watermark float64 `json:"watermark" default:"0.01" jsonschema:"share of KV memory that newcomers leave free"`
	Chunked   bool    `json:"chunked-prefill" default:"false" engine:"enable_chunked_prefill" jsonschema:"whether prompts are cut into chunks, beside decodes"`
	preemption
}

func (s vllmV0) New(d Deployment) (sim.Scheduler, error) {
	swap, err := s.swaps(d)
	if err != nil {
		return nil, err
	}
	v, err := batching.NewVLLMV0(s.MaxSequences, s.TokenBudget, s.Watermark, swap)
	if err == nil && s.Chunked {
		v.CutPrompts()
	}
	return v, err
}

type sarathi struct {
	MaxSequences int    `json:"max-sequences" default:"128" role:"sequences" tune:"16.." jsonschema:"sequences in a batch"`
	TokenBudget  int    `json:"token-budget" default:"512" role:"tokens" tune:"256.." jsonschema:"tokens in a step"`
	Mode         string `json:"mode" default:"combined" enum:"combined,hybrid-only,chunked-only" jsonschema:"combined, or one of its two ideas alone"`
}

func (s sarathi) New(Deployment) (sim.Scheduler, error) {
	switch s.Mode {
	case "hybrid-only":
		return batching.NewHybridOnly(s.MaxSequences, s.TokenBudget)
	case "chunked-only":
		return batching.NewChunkedOnly(s.MaxSequences, s.TokenBudget)
	}
	return batching.NewSarathi(s.MaxSequences, s.TokenBudget)
}

// orca has by default a batch as large as Sarathi's, so that comparisons show the policies alone;
// the paper varies it.
type orca struct {
	MaxBatch int `json:"max-batch" default:"128" role:"requests" jsonschema:"requests in a batch"`
}

func (s orca) New(Deployment) (sim.Scheduler, error) { return batching.NewOrca(s.MaxBatch) }

type trtllm struct {
	MaxSequences int    `json:"max-sequences" default:"256" engine:"max_batch_size" role:"sequences" tune:"16.." jsonschema:"sequences in a batch"`
	TokenBudget  int    `json:"token-budget" default:"8192" engine:"max_num_tokens" role:"tokens" tune:"256.." jsonschema:"tokens in a step"`
	Capacity     string `json:"capacity" default:"guaranteed-no-evict" enum:"guaranteed-no-evict,max-utilization" jsonschema:"the capacity policy"`
	Chunked      bool   `json:"chunked-context" default:"false" engine:"enable_chunked_context" jsonschema:"whether prompts are cut into chunks"`
	maxOutput
	WaitSteps  int     `json:"wait-steps" default:"0" engine:"batch_wait_timeout_iters" jsonschema:"most decode steps for which newcomers wait for others"`
	WaitTokens float64 `json:"wait-tokens" default:"0" engine:"batch_wait_max_tokens_ratio" jsonschema:"share of the token budget with which they wait no longer"`
	RankWait   int     `json:"rank-wait" default:"0" engine:"attention_dp_config" jsonschema:"most steps for which prompts wait until every data-parallel rank has one"`
}

func (s trtllm) New(d Deployment) (sim.Scheduler, error) {
	wait := batching.BatchWait{Steps: s.WaitSteps, Tokens: s.WaitTokens}
	if s.RankWait > 0 {
		wait.Ranks = batching.RankWait{Ranks: d.Ranks, Steps: s.RankWait}
	}
	if s.Capacity == "guaranteed-no-evict" {
		return batching.NewTRTLLMNoEvict(s.MaxSequences, s.TokenBudget, s.Chunked, wait,
			s.MaxOutput)
	}
	if s.MaxOutput > 0 {
		return nil, &ParamError{"max-output", "max-utilization reserves nothing for answers: " +
			"leave it at 0, or use guaranteed-no-evict"}
	}
	return batching.NewTRTLLMMaxUtilization(s.MaxSequences, s.TokenBudget, s.Chunked, wait)
}

type sglang struct {
	MaxSequences  int     `json:"max-sequences" default:"256" engine:"max_running_requests" role:"sequences" tune:"16.." jsonschema:"sequences in a batch"`
	Chunk         int     `json:"chunk" default:"8192" engine:"chunked_prefill_size" role:"prompt-tokens" tune:"256.." jsonschema:"prompt tokens in a step"`
	NewTokenRatio float64 `json:"new-token-ratio" default:"0.7" jsonschema:"share of the output still to come that is taken as used at first"`
	maxOutput
	Order           string `json:"order" default:"arrival" enum:"arrival,longest-prefix" engine:"schedule_policy" jsonschema:"which waiting request starts first"`
	ReceiveInterval int    `json:"receive-interval" default:"1" engine:"scheduler_recv_interval" jsonschema:"decode steps between two looks at what arrived"`
}

func (s sglang) New(Deployment) (sim.Scheduler, error) {
	orders := map[string]batching.SGLangOrder{"arrival": batching.SGLangByArrival,
		"longest-prefix": batching.SGLangByPrefix}
	return batching.NewSGLang(orders[s.Order], s.MaxSequences, s.Chunk, s.NewTokenRatio,
		s.MaxOutput, s.ReceiveInterval)
}

type lightLLM struct {
	MaxSequences int `json:"max-sequences" default:"256" engine:"running_max_req_size" role:"sequences" tune:"16.." jsonschema:"sequences in a batch"`
	TokenBudget  int `json:"token-budget" default:"8192" engine:"batch_max_tokens" role:"tokens" tune:"256.." jsonschema:"tokens in a step"`
	WaitSteps    int `json:"wait-steps" default:"10" engine:"max_wait_tokens" jsonschema:"decode steps between two with prompts, at least"`
	maxOutput
}

func (s lightLLM) New(Deployment) (sim.Scheduler, error) {
	return batching.NewLightLLM(s.MaxSequences, s.TokenBudget, s.WaitSteps, s.MaxOutput)
}

type static struct {
	BatchSize int    `json:"batch-size" default:"8" role:"requests" jsonschema:"most sequences in a batch"`
	Prompts   string `json:"prompts" default:"padded" enum:"padded,packed,shortest" jsonschema:"whether prompts are padded to the longest of a batch, computed each for itself, or together as far as the shortest goes and then token by token"`
	Alone     bool   `json:"alone" default:"false" jsonschema:"whether a batch has the whole pipeline to itself; otherwise each stage may have one"`
}

func (s static) New(Deployment) (sim.Scheduler, error) { return s.delayed(0) }

func (s *static) delayed(delay Span) (sim.Scheduler, error) {
	prompts := map[string]batching.Prompts{"padded": batching.Padded, "packed": batching.Packed,
		"shortest": batching.Shortest}
	return batching.NewStatic(s.BatchSize, sim.Time(delay), prompts[s.Prompts], s.Alone)
}

type dynamic struct {
	static
	MaxDelay Span `json:"max-delay" default:"100ms" jsonschema:"how long the first request waits for others"`
}

func (s dynamic) New(Deployment) (sim.Scheduler, error) { return s.delayed(s.MaxDelay) }

type predicted struct {
	PredictionError float64 `json:"prediction-error" default:"0" jsonschema:"standard deviation of the logarithm of predicted over true output length; 0 where lengths are known"`
}

func (s *predicted) prediction(d Deployment) batching.Prediction {
	return batching.Prediction{Sigma: s.PredictionError, Seed: d.Seed}
}

type sjf struct {
	chunkLimit
	predicted
}

func (s sjf) New(d Deployment) (sim.Scheduler, error) {
	return batching.NewSJF(s.limits(), s.prediction(d))
}

type srtf struct {
	chunkLimit
	predicted
	preemption
}

func (s srtf) New(d Deployment) (sim.Scheduler, error) {
	swap, err := s.swaps(d)
	if err != nil {
		return nil, err
	}
	return batching.NewSRTF(s.limits(), s.prediction(d), swap)
}

type mlfq struct {
	maxSequences
	Levels      int     `json:"levels" default:"8" jsonschema:"number of queues"`
	Quantum     Span    `json:"quantum" default:"50ms" jsonschema:"quantum of the first queue; each is twice that of the one before"`
	PrefillRate float64 `json:"prefill-rate" default:"10000" jsonschema:"prompt tokens computed in a second, as profiled: a request enters the first queue that holds its prompt"`
	Starvation  Span    `json:"starvation" default:"0s" jsonschema:"time in a queue after which a request comes into the first one; 0s for never"`
	preemption
}

func (s mlfq) New(d Deployment) (sim.Scheduler, error) {
	swap, err := s.swaps(d)
	if err != nil {
		return nil, err
	}
	return batching.NewMLFQ(batching.MLFQConfig{MaxSequences: s.MaxSequences, Levels: s.Levels,
		Quantum: sim.Time(s.Quantum), PrefillRate: s.PrefillRate,
		Starvation: sim.Time(s.Starvation), Swap: swap})
}

type priority struct {
	chunkLimit
	Key string `json:"key" default:"-priority" jsonschema:"an expression over arrival, deadline, ttft (s), prompt, output (tokens), class, tenant and priority"`
	displace
	preemption
}

func (s priority) New(d Deployment) (sim.Scheduler, error) {
	swap, err := s.swaps(d)
	if err != nil {
		return nil, err
	}
	key, err := batching.ParseKey(s.Key)
	if err != nil {
		return nil, &ParamError{"key", err.Error()}
	}
	return batching.NewPriority(s.limits(), key, s.Displace, swap)
}

type edf struct {
	chunkLimit
	displace
	preemption
}

func (s edf) New(d Deployment) (sim.Scheduler, error) {
	swap, err := s.swaps(d)
	if err != nil {
		return nil, err
	}
	return batching.NewEDF(s.limits(), s.Displace, swap)
}

type vtc struct {
	chunkLimit
	InputWeight  float64 `json:"input-weight" default:"1" jsonschema:"service of an input token"`
	OutputWeight float64 `json:"output-weight" default:"2" jsonschema:"service of an output token"`
}

func (s vtc) New(Deployment) (sim.Scheduler, error) {
	return batching.NewVTC(s.limits(), s.InputWeight, s.OutputWeight)
}
