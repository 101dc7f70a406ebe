package scenarios

import (
	"cmp"
	"maps"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// Hardware describes the accelerators of a replica.
type Hardware struct {
	Accelerator string  `json:"accelerator,omitempty" short:"true" required:"true" jsonschema:"Its name."`
	File        string  `json:"file,omitempty" jsonschema:"A YAML file with accelerators of your own, as in the catalogue."`
	Link        string  `json:"link,omitempty" jsonschema:"Link between the accelerators of a node. Default: the accelerator's."`
	Network     string  `json:"network,omitempty" jsonschema:"Network between nodes. Default: the accelerator's usual one."`
	PerNode     int     `json:"per-node,omitempty" min:"1" max:"65536" jsonschema:"Number of accelerators that the link of a node joins. Default: the catalogue's."`
	Operators   string  `json:"operators,omitempty" jsonschema:"A folder of measured kernel times (physics.md, measured operators)."`
	Kernels     string  `json:"operators-version,omitempty" jsonschema:"Engine version whose kernels are used, of several in operators. Default: the newest."`
	Host        float64 `json:"host,omitempty" above:"0" max:"100" jsonschema:"Time of the host's work, as a multiple of that on an H100 machine. Default: as measured with the accelerator, or 1."`
	Price       Price   `json:"price,omitzero" min:"0" jsonschema:"Price of one accelerator, such as $1.79/h. Default: the catalogue's."`
}

// Parallelism spreads one replica over accelerators.
type Parallelism struct {
	Tensor    int    `json:"tensor,omitempty" min:"1" max:"4096" short:"true" jsonschema:"Splits each layer."`
	Pipeline  int    `json:"pipeline,omitempty" min:"1" max:"4096" jsonschema:"Number of stages that share the layers. Default: 1."`
	Expert    int    `json:"expert,omitempty" min:"1" max:"4096" jsonschema:"Number of groups over which routed experts are spread; a divisor of tensor. With data, it is all accelerators of a stage (default), or 1, which splits each expert over all of them. Default: 1."`
	Data      int    `json:"data,omitempty" min:"1" max:"4096" jsonschema:"Number of data-parallel ranks, for mixtures of experts. Each has attention, KV cache and sequences of its own. They take their steps together, and share the routed experts. Default: 1."`
	Redundant int    `json:"redundant-experts,omitempty" min:"1" max:"4096" jsonschema:"Number of additional copies of the experts that are chosen most (EPLB): with 32, DeepSeek-V3 has 288, for 72 or 144 accelerators."`
	Context   int    `json:"decode-context,omitempty" min:"1" max:"4096" jsonschema:"Number of accelerators that divide the KV cache of each sequence by its tokens, where tensor parallelism alone has them keep copies (vLLM's --decode-context-parallel-size); a divisor of tensor. Default: 1."`
	Overlap   string `json:"overlap,omitempty" enum:"two-batch" jsonschema:"Prompts are computed in two halves, of which one exchanges tokens between data-parallel ranks while the other computes."`
}

// Engine is the serving engine: a preset, and the scenario's changes of it.
type Engine struct {
	Preset           string `json:"preset,omitempty" short:"true" jsonschema:"An engine, such as vllm, or a preset of its constants, such as vllm-v1-sync (llmsim list engines)."`
	Version          string `json:"version,omitempty" jsonschema:"Engine's version, such as 0.15.1. Default: the newest one of which servers were measured."`
	Scheduling       string `json:"scheduling,omitempty" enum:"asynchronous,synchronous" jsonschema:"Whether the host schedules a step while the one before runs (--async-scheduling, --disable-overlap-schedule). Default: as the version does it."`
	Sampling         string `json:"sampling,omitempty" enum:"sorted,greedy" jsonschema:"Whether requests ask for one of the most likely tokens (top-k, top-p: sorted logits) or the likeliest. Default: sorted under vLLM, else as in the engine's measurements."`
	Eager            bool   `json:"eager,omitempty" jsonschema:"Whether the host launches every kernel, without captured graphs and compiled code (--enforce-eager, --disable-cuda-graph)."`
	ExpertsBackend   string `json:"experts-backend,omitempty" jsonschema:"Library whose kernels compute routed experts, such as triton, deepgemm, cutlass, flashinfer-cutlass, flashinfer-trtllm, marlin or aiter (--moe-backend, --moe-runner-backend, moe_config.backend); or with no- before it, libraries that are left out, such as no-flashinfer,no-deepgemm. Default: as the version chooses for the format, the accelerator and the parallelism (docs/engines.md)."`
	ProductsBackend  string `json:"products-backend,omitempty" jsonschema:"The same, for all other matrix products, such as torch, cutlass, deepgemm, triton or marlin (--linear-backend, --fp8-gemm-backend)."`
	AttentionBackend string `json:"attention-backend,omitempty" jsonschema:"The same, for attention, such as flash-attn, flashinfer, triton-attn, fa3 or trtllm-mha (--attention-backend, VLLM_ATTENTION_BACKEND, attn_backend)."`
	PrefillBackend   string `json:"prefill-backend,omitempty" jsonschema:"The same, for the attention of prompts (--prefill-attention-backend). Default: attention-backend."`
	DecodeBackend    string `json:"decode-backend,omitempty" jsonschema:"The same, for the attention of sequences that decode (--decode-attention-backend). Default: attention-backend."`
	ExchangeBackend  string `json:"exchange-backend,omitempty" jsonschema:"The same, for the exchange of tokens between data-parallel ranks, such as deepep or allgather-reducescatter (--all2all-backend, VLLM_ALL2ALL_BACKEND, --moe-a2a-backend)."`
	Marlin           bool   `json:"marlin,omitempty" jsonschema:"As experts-backend: marlin, for routed experts in MXFP4 (VLLM_MXFP4_USE_MARLIN)."`
	FusedAllReduce   bool   `json:"fused-all-reduce,omitempty" jsonschema:"Whether all-reduces also normalise what they sum (--enable-flashinfer-allreduce-fusion, fuse_allreduce_rms). Default: as the engine does."`
	PromptGraphs     string `json:"prompt-graphs,omitempty" enum:"on,off" jsonschema:"Whether steps with prompts of at most graph tokens are launched as captured graphs too (TensorRT-LLM's enable_piecewise_cuda_graph; off with vLLM's FULL_DECODE_ONLY). Default: as the engine does."`
	Weights          string `json:"weights,omitempty" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m,q5_k_m,q6_k,q8_0" jsonschema:"Number format of the weights. Default: as published."`
	KVCache          string `json:"kv-cache,omitempty" enum:"fp32,fp16,bf16,fp8,int8,fp4" jsonschema:"Number format of the KV cache. Default: that of activations."`
	EncoderCache     int    `json:"encoder-cache,omitempty" min:"1" max:"1000000000" jsonschema:"Size in tokens of the cache of encoded images and sounds, on each accelerator. In vLLM it is the token budget, and one image at least."`
	MaxModelLen      int    `json:"max-model-len,omitempty" min:"2" jsonschema:"Most tokens of a prompt and its answer together. Default: the model's longest context."`
	StretchContext   bool   `json:"stretch-context,omitempty" jsonschema:"Whether max-model-len may be longer than the context for which the model was made, as with YaRN (--hf-overrides, --json-model-override-args, VLLM_ALLOW_LONG_MAX_MODEL_LEN). What it does to the texts is not predicted."`

	Slowdown     float64 `json:"slowdown,omitempty" min:"0.01" max:"100" jsonschema:"A factor on the times of all steps. Default: 1."`
	Factors      Factors `json:"factors,omitzero" jsonschema:"Factors on parts of a step, as llmsim twin adapt fits them. Default: 1 each, or those of deployment."`
	Deployment   string  `json:"deployment,omitempty" jsonschema:"A file that llmsim twin adapt wrote: its factors and its measured KV cache apply to the same model, accelerator and engine."`
	Request      Span    `json:"request,omitempty" above:"0" jsonschema:"Host's time for a request before its first step and after its first token. Default of this and the following keys: the preset's (llmsim list engines)."`
	Step         Span    `json:"step,omitempty" above:"0" jsonschema:"Time in each step in which the accelerators wait for the host."`
	Sequence     Span    `json:"sequence,omitempty" above:"0" jsonschema:"The same, for each sequence of the step."`
	Layer        Span    `json:"layer,omitempty" above:"0" jsonschema:"Time of a layer beyond the sum of its kernels."`
	HostStep     Span    `json:"host-step,omitempty" above:"0" jsonschema:"Host's time in each step for scheduling and outputs, in parallel with the accelerators if the host schedules ahead."`
	HostSequence Span    `json:"host-sequence,omitempty" above:"0" jsonschema:"The same, for each sequence of the step."`
	Graph        int     `json:"graph,omitempty" min:"1" jsonschema:"Largest number of tokens of a step that is launched as one captured graph."`
	Launch       Span    `json:"launch,omitempty" above:"0" jsonschema:"Time in which the host launches a kernel, in steps without a graph that only decode. A step takes at least as long as its launches."`
	LaunchPrompt Span    `json:"launch-prompt,omitempty" above:"0" jsonschema:"The same, in steps that compute prompts."`
}

// Asked returns the back ends that the scenario asks for.
func (e *Engine) Asked() map[engines.Operator]string {
	asked := map[engines.Operator]string{engines.Experts: e.ExpertsBackend,
		engines.Products: e.ProductsBackend, engines.Attention: e.AttentionBackend,
		engines.Prefill: e.PrefillBackend, engines.Decode: e.DecodeBackend,
		engines.Exchange: e.ExchangeBackend}
	maps.DeleteFunc(asked, func(_ engines.Operator, name string) bool { return name == "" })
	return asked
}

// Attention says how the attention of prompts is computed.
type Attention struct {
	Kernel string `json:"kernel,omitempty" short:"true" enum:"flash,naive" jsonschema:"flash keeps attention scores on the chip; naive moves them through memory (FlashAttention, arXiv:2205.14135, algorithm 0), whose space is not counted."`
}

// Policy names a policy and sets its parameters.
type Policy struct {
	Policy string            `json:"policy,omitempty" short:"true" jsonschema:"Name of the policy."`
	Params map[string]string `json:"-" rest:"true"`
	Chosen `json:"-"`
}

// policySlot is a place of a scenario that names a policy.
type policySlot struct {
	section string
	policy  *string
	params  *map[string]string
	chosen  *Chosen // nil where nobody asks for them
}

func (p *Policy) slot(section string) policySlot {
	return policySlot{section, &p.Policy, &p.Params, &p.Chosen}
}

func (m *KVMemory) slot() policySlot {
	return policySlot{"memory", &m.Policy, &m.Params, &m.Chosen}
}

// fill writes the parameters of a chosen policy, with a default for each that was left out.
func (p *policySlot) fill(chosen deployment.Settings) {
	*p.params = map[string]string{}
	for _, setting := range chosen.List() {
		(*p.params)[setting.Name] = setting.Default
	}
	if p.chosen != nil {
		*p.chosen = Chosen{chosen}
	}
}

// Chosen has the parameters of a policy once defaults have been filled in. It is no part of a
// scenario as it is written: two of them count as equal, so that scenarios compare by what was
// written.
type Chosen struct{ settings deployment.Settings }

// Equal reports true.
func (Chosen) Equal(Chosen) bool { return true }

// Limits returns the most sequences in a batch and the most tokens in a step, 0 where the policy
// has no such limit.
func (c Chosen) Limits() (sequences, tokens int) {
	if c.settings == nil {
		return 0, 0
	}
	return c.settings.Limits()
}

// Number returns the name and the value of the whole-number parameter with one of the roles of
// package policies; "" and 0 where the policy has no such parameter.
func (c Chosen) Number(roles ...string) (name string, value int) {
	if c.settings == nil {
		return "", 0
	}
	return c.settings.Number(roles...)
}

// Settings describes the parameters, with the text of each in place of its default.
func (c Chosen) Settings() []strict.Setting {
	if c.settings == nil {
		return nil
	}
	return c.settings.List()
}

// KVMemory describes the KV memory of a replica: its size, and the policy that manages it.
type KVMemory struct {
	Policy      string            `json:"policy,omitempty" short:"true" jsonschema:"Name of the policy."`
	Utilization float64           `json:"utilization,omitempty" above:"0" max:"1" jsonschema:"Share of accelerator memory for weights, activations and KV cache. Default: 0.9; for sglang and trtllm, what follows from their static-share or kv-share (docs/engines.md)."`
	StaticShare float64           `json:"static-share,omitempty" above:"0" max:"1" jsonschema:"In place of utilization, as SGLang's --mem-fraction-static: the share for weights and KV cache."`
	KVShare     float64           `json:"kv-share,omitempty" above:"0" max:"1" jsonschema:"In place of utilization, as TensorRT-LLM's free_gpu_memory_fraction: the KV cache's share of the memory that all else leaves."`
	WindowShare float64           `json:"window-share,omitempty" above:"0" max:"1" jsonschema:"The share of the cache's tokens whose KV has room in layers with a sliding window, as SGLang's --swa-full-tokens-ratio. Default: 0.8 for sglang; other engines keep no such pool."`
	Tokens      int               `json:"tokens,omitempty" min:"1" jsonschema:"Size of the KV cache in tokens. Default: what utilization leaves."`
	LargestStep int               `json:"largest-step,omitempty" min:"1" jsonschema:"Number of tokens of a step for which activations have room, as LMDeploy's max_prefill_token_num. Default: the largest step that the batching policy forms."`
	Swap        Bytes             `json:"swap,omitempty" jsonschema:"Host memory of a replica to which KV caches can be swapped out, such as 16GiB."`
	Tiers       []Tier            `json:"tiers,omitempty" jsonschema:"Stores of KV caches, the fastest first, in place of the policy's sizes and rates, such as [hbm, {store: host, size: 512GiB}, {store: nvme, size: 4TB, rate: 7GB/s}]. The policy is then offload by default."`
	Price       Price             `json:"price,omitzero" above:"0" jsonschema:"Price of a GiB of host memory for KV caches (cpu, or the tier host, and swap), such as $0.0034/h. Without these three prices, that of the accelerators includes it."`
	DiskPrice   Price             `json:"disk-price,omitzero" above:"0" jsonschema:"Price of a GiB of disk for KV caches."`
	PoolPrice   Price             `json:"pool-price,omitzero" above:"0" jsonschema:"Price of a GiB of the pool, which the replicas of a model pay together."`
	Params      map[string]string `json:"-" rest:"true"`
	Chosen      `json:"-"`
}

// HostHourly returns the price an hour of the host memory and the disk of a replica, as far as
// KVMemory gives them a price. Defaults must have been filled in.
func (m *KVMemory) HostHourly() float64 {
	gib := m.gib("cpu") + float64(m.Swap)/(1<<30)
	return m.Price.Amount*gib + m.DiskPrice.Amount*m.gib("disk")
}

// PoolHourly returns the price an hour of the pool, which the replicas of a model share.
func (m *KVMemory) PoolHourly() float64 { return m.PoolPrice.Amount * m.gib("pool") }

// gib returns the size of a store in GiB, 0 without one. The policy has checked it.
func (m *KVMemory) gib(param string) float64 {
	size, _ := units.ParseBytes(m.Params[param])
	return size / (1 << 30)
}

// Tier is a store of KV caches.
type Tier struct {
	Store  string `json:"store" short:"true" required:"true" enum:"hbm,host,nvme,pool" jsonschema:"Accelerators' memory (hbm), their hosts', a disk of each host (nvme), or memory of other machines that all replicas of a model share (pool)."`
	Size   string `json:"size,omitempty" jsonschema:"Its size, such as 512GiB. That of hbm follows from utilization or tokens."`
	Rate   string `json:"rate,omitempty" jsonschema:"Rate at which a disk is read, or of a pool in each direction, such as 7GB/s. Default: the policy's."`
	Link   string `json:"link,omitempty" jsonschema:"Rate of a replica's link to a pool in each direction. Default: the policy's."`
	Price  string `json:"price,omitempty" jsonschema:"Price of a GiB, such as $0.0034/h, or listed for that of the catalogue (hardware/catalog/stores.csv)."`
	Shared string `json:"shared,omitempty" enum:"rack" jsonschema:"Which replicas share a pool: those of the model, which count as one rack. Default: rack."`
}

// Caches says what the KV caches of replicas and pools hold at the start of a run.
type Caches struct {
	Start    string  `json:"start,omitempty" kind:"true" short:"true" enum:"cold,warm,snapshot" jsonschema:"cold: nothing. warm: what the first requests leave, which are served before the run and do not count. snapshot: what an earlier run left (llmsim scenario --save-caches)."`
	Requests int64   `json:"requests,omitempty" only:"warm" min:"1" jsonschema:"Number of requests that are served before the run."`
	Share    float64 `json:"share,omitempty" only:"warm" above:"0" max:"1" jsonschema:"In place of requests: the share of the KV memory of all tiers that is in use when the run starts."`
	File     string  `json:"file,omitempty" need:"snapshot" jsonschema:"File that --save-caches wrote, beside the scenario file or in the current folder."`
}

// Shape changes the model that is named.
type Shape struct {
	KVHeads int    `json:"kv-heads,omitempty" min:"1" max:"2048" jsonschema:"Number of KV heads of a layer: 1 gives multi-query attention. Default: the model's."`
	Assume  string `json:"assume,omitempty" enum:"llama" jsonschema:"Model type as which to read a config.json of an unknown model_type. Default: it is refused."`
}

func (p Parallelism) degrees() steptime.Parallelism {
	return steptime.Parallelism{
		Tensor: p.Tensor, Pipeline: p.Pipeline, Expert: p.Expert, Data: p.Data,
		Redundant: p.Redundant,
		TwoBatch:  p.Overlap == "two-batch", Context: p.Context,
	}
}

// Accelerators returns the number of accelerators of one replica. Degrees that are not given count
// as 1.
func (p Parallelism) Accelerators() int { return p.degrees().Complete().GPUs() }

// Adapters describes the adapters of a model and what an engine has for them.
type Adapters struct {
	Count   int     `json:"count" required:"true" min:"1" max:"100000" jsonschema:"Number of adapters. Those without a slot are in host memory."`
	Rank    int     `json:"rank" required:"true" min:"1" max:"4096" jsonschema:"Rank of the adapters."`
	Slots   int     `json:"slots,omitempty" min:"1" jsonschema:"Number of adapters in the accelerators' memory (vLLM's --max-loras). Default: one for each adapter, at most 32."`
	MaxRank int     `json:"max-rank,omitempty" min:"1" max:"4096" jsonschema:"Rank for which a slot has room (vLLM's --max-lora-rank). Default: rank."`
	Layers  string  `json:"layers,omitempty" enum:"all,attention" jsonschema:"Matrices that have adapters: those of attention and dense MLPs, or of attention alone. Default: all."`
	Zipf    float64 `json:"zipf,omitempty" min:"0" max:"10" jsonschema:"Adapter number k is asked for in proportion to k^-zipf."`
}

// StepTimes are the times of a step, of one stage where there is a pipeline. A step with prompts
// and answers takes the larger of the two fixed times.
type StepTimes struct {
	Prefill PrefillTimes `json:"prefill" required:"true" jsonschema:"Steps that compute prompts."`
	Decode  DecodeTimes  `json:"decode" required:"true" jsonschema:"Steps that give each sequence one token."`
}

// PrefillTimes are the times of prompts.
type PrefillTimes struct {
	Step   Span `json:"step" required:"true" above:"0" jsonschema:"Fixed time."`
	Token  Span `json:"token,omitempty" min:"0" jsonschema:"Time for each prompt token."`
	Square Span `json:"square,omitempty" min:"0" jsonschema:"Time for each pair of tokens of a prompt: n² pairs for n tokens."`
}

// DecodeTimes are the times of answers.
type DecodeTimes struct {
	Step    Span `json:"step,omitempty" min:"0" jsonschema:"Fixed time."`
	Token   Span `json:"token,omitempty" min:"0" jsonschema:"Time for each sequence."`
	Context Span `json:"context,omitempty" min:"0" jsonschema:"Time for each token of the sequences' contexts."`
}

// given returns the step times as the clock takes them, or nil.
func (s *StepTimes) given() *steptime.Given {
	if s == nil {
		return nil
	}
	return &steptime.Given{
		PrefillStep: sim.Time(s.Prefill.Step), PrefillToken: sim.Time(s.Prefill.Token),
		PrefillSquare: sim.Time(s.Prefill.Square),
		DecodeStep:    sim.Time(s.Decode.Step), DecodeToken: sim.Time(s.Decode.Token),
		DecodeContext: sim.Time(s.Decode.Context),
	}
}

// TokenPrices holds the prices that users pay for tokens, or that a provider asks for them.
type TokenPrices struct {
	Input  TokenPrice  `json:"input" required:"true" jsonschema:"Price of a million prompt tokens, such as $0.15/M."`
	Cached *TokenPrice `json:"cached-input,omitempty" jsonschema:"Price of a million prompt tokens that come from a prefix cache. Default: the price of other input."`
	Output TokenPrice  `json:"output" required:"true" jsonschema:"Price of a million output tokens."`
}

// complete returns the prices with their defaults filled in; nil for nil.
func (p *TokenPrices) complete() *TokenPrices {
	if p == nil || p.Cached != nil {
		return p
	}
	return &TokenPrices{Input: p.Input, Cached: &p.Input, Output: p.Output}
}

// Factors multiply the times of parts of a step and of a request, but for RoundTrip, which is added
// to it. A factor of 0 means 1.
type Factors struct {
	Prompts   float64 `json:"prompts,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of what grows with the tokens of a step: arithmetic, the attention of prompts, and activations."`
	Memory    float64 `json:"memory,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of reading weights."`
	Cache     float64 `json:"cache,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of reading the KV cache to decode."`
	Exchanges float64 `json:"exchanges,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time in which accelerators exchange data."`
	Step      float64 `json:"step,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the host's time for each step."`
	Sequence  float64 `json:"sequence,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the host's time for each sequence of a step."`
	Request   float64 `json:"request,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the host's time for each request, outside of steps."`
	Mixed     float64 `json:"mixed,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of the accelerators in steps that compute prompts beside very many decoding sequences. With p tokens of prompts and n sequences, n/(n+64)·p/(p+n) of it applies."`
	Load      float64 `json:"load,omitempty" min:"0.5" max:"2" jsonschema:"Factor on the time of the accelerators for each tenfold of a step's sequences: with n sequences it is raised to log10(n)."`
	RoundTrip Span    `json:"round-trip,omitempty" min:"0" jsonschema:"How long a message takes from the measured client to a replica and back, where fleet.round-trip does not say it and pools have no regions."`
}

// fitted returns the factors as the clock takes them.
func (f Factors) fitted() steptime.Factors {
	return steptime.Factors{
		Prompts: f.Prompts, Memory: f.Memory, Cache: f.Cache, Exchanges: f.Exchanges,
		Step: f.Step, Sequence: f.Sequence, Request: f.Request, Mixed: f.Mixed, Load: f.Load,
	}
}

// or returns f, with the factors of g where f leaves them out.
func (f Factors) or(g Factors) Factors {
	return Factors{
		Prompts: cmp.Or(f.Prompts, g.Prompts), Memory: cmp.Or(f.Memory, g.Memory),
		Cache:     cmp.Or(f.Cache, g.Cache),
		Exchanges: cmp.Or(f.Exchanges, g.Exchanges), Step: cmp.Or(f.Step, g.Step),
		Sequence: cmp.Or(f.Sequence, g.Sequence), Request: cmp.Or(f.Request, g.Request),
		Mixed: cmp.Or(f.Mixed, g.Mixed), Load: cmp.Or(f.Load, g.Load),
		RoundTrip: cmp.Or(f.RoundTrip, g.RoundTrip),
	}
}
