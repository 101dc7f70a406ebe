package scenarios

import (
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
)

// Hardware describes the accelerators of a replica.
type Hardware struct {
	Accelerator string  `json:"accelerator,omitempty" short:"true" required:"true" jsonschema:"The accelerator's name."`
	File        string  `json:"file,omitempty" jsonschema:"A YAML file with accelerators of your own, in the format of the catalogue."`
	Link        string  `json:"link,omitempty" jsonschema:"The link between the accelerators of a node. Default: the accelerator's own link."`
	Network     string  `json:"network,omitempty" jsonschema:"The network between nodes. Default: the accelerator's usual network."`
	PerNode     int     `json:"per-node,omitempty" min:"1" max:"65536" jsonschema:"The number of accelerators that the link of a node joins. Default: the catalogue's."`
	Operators   string  `json:"operators,omitempty" jsonschema:"A folder of kernel times measured on this accelerator, which replace the formulas for the shapes that they cover (physics.md, measured operators). Default: none."`
	Kernels     string  `json:"operators-version,omitempty" jsonschema:"The engine version whose kernels are used, if the folder of operators has several. Default: the newest."`
	Host        float64 `json:"host,omitempty" above:"0" max:"100" jsonschema:"The time of the host's work, as a multiple of that on an H100 machine. Default: as measured with the accelerator, or 1."`
	Price       Price   `json:"price,omitzero" min:"0" jsonschema:"The price of one accelerator, such as $1.79/h. Default: the catalogue's."`
}

// Parallelism spreads one replica over accelerators.
type Parallelism struct {
	Tensor    int    `json:"tensor,omitempty" min:"1" max:"4096" short:"true" jsonschema:"Splits each layer."`
	Pipeline  int    `json:"pipeline,omitempty" min:"1" max:"4096" jsonschema:"The number of stages that share the layers. Default: 1."`
	Expert    int    `json:"expert,omitempty" min:"1" max:"4096" jsonschema:"The number of groups over which routed experts are spread; a divisor of tensor. With data, it is all accelerators of a stage, or 1, which splits each expert over all of them. Default: 1, or with data all accelerators of a stage."`
	Data      int    `json:"data,omitempty" min:"1" max:"4096" jsonschema:"The number of data-parallel ranks, for mixtures of experts only. Each rank has attention, KV cache and sequences of its own. The ranks take their steps together, and share the routed experts. Default: 1."`
	Redundant int    `json:"redundant-experts,omitempty" min:"1" max:"4096" jsonschema:"The number of additional copies of the experts that are chosen most (EPLB). Groups divide experts and copies together: with 32 copies, DeepSeek-V3 has 288, for 72 or 144 accelerators. Default: none."`
	Overlap   string `json:"overlap,omitempty" enum:"two-batch" jsonschema:"Whether prompts are computed in two halves, of which one exchanges tokens between data-parallel ranks while the other computes. Default: no."`
}

// Engine is the serving engine: a preset, and the scenario's changes of it.
type Engine struct {
	Preset       string `json:"preset,omitempty" short:"true" jsonschema:"The name of an engine, such as vllm, or of a preset of its constants, such as vllm-v1-sync (llmsim list engines)."`
	Version      string `json:"version,omitempty" jsonschema:"The engine's version, such as 0.15.1, with its constants, defaults and kernels. Default: the newest one of which servers were measured."`
	Scheduling   string `json:"scheduling,omitempty" enum:"asynchronous,synchronous" jsonschema:"Whether the host schedules a step while the one before runs (--async-scheduling, --disable-overlap-schedule). Default: as the version does it."`
	Sampling     string `json:"sampling,omitempty" enum:"sorted,greedy" jsonschema:"Whether requests ask for one of the most likely tokens (top-k, top-p), so that logits are sorted, or for the likeliest one. Default: sorted under vLLM, else as in the engine's measurements."`
	Eager        bool   `json:"eager,omitempty" jsonschema:"Whether the host launches every kernel, without captured graphs and compiled code (--enforce-eager, --disable-cuda-graph). Default: no."`
	Marlin       bool   `json:"marlin,omitempty" jsonschema:"Whether routed experts in MXFP4 have Marlin's kernels, which convert weights to 16 bits (VLLM_MXFP4_USE_MARLIN). Default: no, the engine's own choice."`
	Weights      string `json:"weights,omitempty" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m" jsonschema:"The number format of the weights. Default: as published."`
	KVCache      string `json:"kv-cache,omitempty" enum:"fp32,fp16,bf16,fp8,int8" jsonschema:"The number format of the KV cache. Default: that of activations."`
	EncoderCache int    `json:"encoder-cache,omitempty" min:"1" max:"1000000000" jsonschema:"The size in tokens of the cache of encoded images and sounds, on each accelerator. In vLLM it is the token budget, and one image at least. Default: none."`
	MaxModelLen  int    `json:"max-model-len,omitempty" min:"2" jsonschema:"The most tokens of a prompt and its answer together. Default: the longest context that the model was made for."`

	Slowdown     float64 `json:"slowdown,omitempty" min:"0.01" max:"100" jsonschema:"A factor on the times of all steps, to try a wrong prediction. Default: 1."`
	Factors      Factors `json:"factors,omitzero" jsonschema:"Factors on the times of parts of a step, as llmsim twin adapt fits them to a deployment. Default: 1 each, or those of deployment."`
	Deployment   string  `json:"deployment,omitempty" jsonschema:"A file that llmsim twin adapt wrote: its factors and its measured KV cache apply to the same model, accelerator and engine. Default: none."`
	Request      Span    `json:"request,omitempty" above:"0" jsonschema:"The time that the host needs for a request before its first step and after its first token. Default of this and the following keys: the preset's (llmsim list engines)."`
	Step         Span    `json:"step,omitempty" above:"0" jsonschema:"The time in each step for which the accelerators wait for the host."`
	Sequence     Span    `json:"sequence,omitempty" above:"0" jsonschema:"The additional time for each sequence of the step."`
	Layer        Span    `json:"layer,omitempty" above:"0" jsonschema:"The time that a layer takes in addition to the sum of its kernels."`
	HostStep     Span    `json:"host-step,omitempty" above:"0" jsonschema:"The host's time in each step for scheduling and outputs, in parallel with the accelerators if the host schedules ahead."`
	HostSequence Span    `json:"host-sequence,omitempty" above:"0" jsonschema:"The additional time for each sequence of the step."`
	Graph        int     `json:"graph,omitempty" min:"1" jsonschema:"The largest number of tokens of a step that is launched as one captured graph."`
	Launch       Span    `json:"launch,omitempty" above:"0" jsonschema:"The time in which the host launches a kernel, in steps without a graph that only decode. A step takes at least as long as the launches of its kernels."`
	LaunchPrompt Span    `json:"launch-prompt,omitempty" above:"0" jsonschema:"The same, in steps that compute prompts."`
}

// Attention says how the attention of prompts is computed.
type Attention struct {
	Kernel string `json:"kernel,omitempty" short:"true" enum:"flash,naive" jsonschema:"flash keeps attention scores on the chip; naive moves them through memory, for all pairs of tokens (FlashAttention, arXiv:2205.14135, algorithm 0). The memory that the scores take is not counted."`
}

// Policy names a policy and sets its parameters.
type Policy struct {
	Policy string            `json:"policy,omitempty" short:"true" jsonschema:"The name of the policy."`
	Params map[string]string `json:"-" rest:"true"`
}

// KVMemory describes the KV memory of a replica: its size, and the policy that manages it.
type KVMemory struct {
	Policy      string            `json:"policy,omitempty" short:"true" jsonschema:"The name of the policy."`
	Utilization float64           `json:"utilization,omitempty" above:"0" max:"1" jsonschema:"The share of accelerator memory that the engine uses for weights, activations and KV cache. Default: 0.9; for sglang and trtllm, the share that follows from their static-share or kv-share (docs/engines.md)."`
	StaticShare float64           `json:"static-share,omitempty" above:"0" max:"1" jsonschema:"In place of utilization, as SGLang's --mem-fraction-static: the share of memory for weights and KV cache, without activations and the engine itself."`
	KVShare     float64           `json:"kv-share,omitempty" above:"0" max:"1" jsonschema:"In place of utilization, as TensorRT-LLM's free_gpu_memory_fraction: the KV cache's share of the memory that weights, activations and engine leave."`
	Tokens      int               `json:"tokens,omitempty" min:"1" jsonschema:"The size of the KV cache in tokens, if it is known. Default: what utilization leaves."`
	Swap        Bytes             `json:"swap,omitempty" jsonschema:"The host memory to which KV caches can be swapped out, for all accelerators of a replica together, such as 16GiB. Default: none."`
	Tiers       []Tier            `json:"tiers,omitempty" jsonschema:"The stores of KV caches, the fastest first, in place of the policy's sizes and rates, such as [hbm, {store: host, size: 512GiB}, {store: nvme, size: 4TB, rate: 7GB/s}]. Default: those of the policy, which is offload if there is more than hbm."`
	Price       Price             `json:"price,omitzero" above:"0" jsonschema:"The price of a GiB of host memory that holds KV caches (cpu, or the size of the tier host, and swap), such as $0.0034/h. Default: none, as it is in the price of the accelerators."`
	DiskPrice   Price             `json:"disk-price,omitzero" above:"0" jsonschema:"The price of a GiB of disk that holds KV caches. Default: none, as with price."`
	PoolPrice   Price             `json:"pool-price,omitzero" above:"0" jsonschema:"The price of a GiB of the pool, which the replicas of a model pay together. Default: none, as with price."`
	Params      map[string]string `json:"-" rest:"true"`
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
	Store  string `json:"store" short:"true" required:"true" enum:"hbm,host,nvme,pool" jsonschema:"The accelerators' own memory (hbm), the memory of their hosts, a disk of each host (nvme), or memory of other machines that all replicas of a model share (pool)."`
	Size   string `json:"size,omitempty" jsonschema:"Its size, such as 512GiB. That of hbm follows from utilization or tokens."`
	Rate   string `json:"rate,omitempty" jsonschema:"The rate at which a disk is read, or of a pool in each direction, such as 7GB/s. Default: that of the policy."`
	Link   string `json:"link,omitempty" jsonschema:"The rate of a replica's link to a pool in each direction, such as 50GB/s. Default: that of the policy."`
	Price  string `json:"price,omitempty" jsonschema:"The price of a GiB, such as $0.0034/h, or listed for that of the catalogue (hardware/catalog/stores.csv). Default: none, as it is in the price of the accelerators."`
	Shared string `json:"shared,omitempty" enum:"rack" jsonschema:"Which replicas share a pool: those of the model, which all count as one rack. Default: rack."`
}

// Caches says what the KV caches of replicas and pools hold at the start of a run.
type Caches struct {
	Start    string  `json:"start,omitempty" kind:"true" short:"true" enum:"cold,warm,snapshot" jsonschema:"cold: nothing. warm: what the first requests of the workload leave, which are served before the run and do not count. snapshot: what an earlier run left (llmsim scenario --save-caches)."`
	Requests int64   `json:"requests,omitempty" only:"warm" min:"1" jsonschema:"The number of requests that are served before the run."`
	Share    float64 `json:"share,omitempty" only:"warm" above:"0" max:"1" jsonschema:"In place of requests: the share of the KV memory of all tiers that is in use when the run starts, as a mean over replicas."`
	File     string  `json:"file,omitempty" need:"snapshot" jsonschema:"The file that --save-caches wrote. It is looked up beside the scenario file, and then from the current folder."`
}

// Shape changes the model that is named.
type Shape struct {
	KVHeads int    `json:"kv-heads,omitempty" min:"1" max:"2048" jsonschema:"The number of KV heads of a layer: that of query heads gives multi-head attention, 1 gives multi-query attention. Default: the model's."`
	Assume  string `json:"assume,omitempty" enum:"llama" jsonschema:"The model type as which to read a config.json of an unknown model_type. Default: none, the file is refused."`
}

func (p Parallelism) degrees() steptime.Parallelism {
	return steptime.Parallelism{
		Tensor: p.Tensor, Pipeline: p.Pipeline, Expert: p.Expert, Data: p.Data,
		Redundant: p.Redundant,
		TwoBatch:  p.Overlap == "two-batch",
	}
}

// Accelerators returns the number of accelerators of one replica. Degrees that are not given count
// as 1.
func (p Parallelism) Accelerators() int { return p.degrees().Complete().GPUs() }

// Adapters describes the adapters of a model and what an engine has for them.
type Adapters struct {
	Count   int     `json:"count" required:"true" min:"1" max:"100000" jsonschema:"The number of adapters. Those without a slot are in host memory."`
	Rank    int     `json:"rank" required:"true" min:"1" max:"4096" jsonschema:"The rank of the adapters."`
	Slots   int     `json:"slots,omitempty" min:"1" jsonschema:"The number of adapters in the accelerators' memory at once (vLLM's --max-loras). A request waits until its adapter has a slot. Default: one for each adapter, at most 32."`
	MaxRank int     `json:"max-rank,omitempty" min:"1" max:"4096" jsonschema:"The rank for which a slot has room (vLLM's --max-lora-rank). Default: rank."`
	Layers  string  `json:"layers,omitempty" enum:"all,attention" jsonschema:"The matrices that have adapters: those of attention and dense MLPs, or those of attention alone. Routed experts have none. Default: all."`
	Zipf    float64 `json:"zipf,omitempty" min:"0" max:"10" jsonschema:"How unequal their popularity is: adapter number k is asked for in proportion to k^-zipf. Default: 0."`
}
