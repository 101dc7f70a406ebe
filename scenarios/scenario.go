package scenarios

import (
	"github.com/llmsim/llmsim/policies/speculation"
)

// Scenario is the content of a scenario file: the model, the hardware, the policies and the
// workload. The tags of its fields describe the keys; Keys and schema.json come from these tags.
type Scenario struct {
	Name        string       `json:"name,omitempty" jsonschema:"Name of the scenario in reports."`
	Model       string       `json:"model,omitempty" required:"unless fleet" jsonschema:"A name (llmsim list models), the path of a Hugging Face config.json, or a mapping of a name and the keys of shape, such as {name: llama-2-7b, kv-heads: 8}." spread:"shape"`
	Shape       Shape        `json:"shape,omitzero" jsonschema:"Changes of the model's shape, or assumptions about it."`
	Hardware    Hardware     `json:"hardware,omitzero" required:"unless fleet" jsonschema:"Accelerators (llmsim list hardware)."`
	Parallelism Parallelism  `json:"parallelism,omitzero" jsonschema:"How a replica is spread over accelerators. Default: the smallest tensor parallelism that holds model and one full context."`
	Replicas    int          `json:"replicas,omitempty" min:"1" max:"100000" jsonschema:"Number of replicas, each with a copy of the model and a queue. Default: 1."`
	Engine      Engine       `json:"engine,omitzero" jsonschema:"Serving engine. Default: vllm-v1."`
	Attention   Attention    `json:"attention,omitzero" jsonschema:"Kernel for the attention of prompts. Default: flash."`
	Steps       *StepTimes   `json:"steps,omitempty" jsonschema:"Given step times. Default: predicted."`
	Batching    Policy       `json:"batching,omitzero" jsonschema:"Which requests are in the next step: a policy and its parameters. Default: the engine's."`
	Memory      KVMemory     `json:"memory,omitzero" jsonschema:"How the KV cache is stored. Default: the engine's."`
	Caches      *Caches      `json:"caches,omitempty" jsonschema:"What KV caches hold at the start. Default: cold."`
	Adapters    *Adapters    `json:"adapters,omitempty" jsonschema:"Low-rank adapters (LoRA). Each request or session asks for one."`
	Routing     Policy       `json:"routing,omitzero" jsonschema:"Which replica serves a request. Default: round-robin."`
	Speculation *Speculation `json:"speculation,omitempty" jsonschema:"Speculative decoding (docs/speculation.md)."`
	Fleet       Fleet        `json:"fleet,omitzero" jsonschema:"How replicas work together, fail, start and stop."`
	Workload    Workload     `json:"workload,omitzero" jsonschema:"Requests, and when they arrive."`
	SLO         SLO          `json:"slo,omitzero" jsonschema:"SLO of all requests. Default: 2s to the first token and 200ms for each output token, each in 99% of the requests (MLPerf Inference 4.0, Llama-2-70B server)."`
	Tokens      *TokenPrices `json:"tokens,omitempty" jsonschema:"Price of a million tokens."`
	Seed        uint64       `json:"seed" jsonschema:"Seed of the random numbers."`
}

// drafts reports whether the scenario has speculative decoding.
func (s *Scenario) drafts() bool { return s.Speculation != nil }

// Fleet describes how replicas work together, fail, start and stop.
type Fleet struct {
	Pools        []Pool   `json:"pools,omitempty" jsonschema:"Groups of replicas. Default: one, for prompts and answers."`
	Handover     Policy   `json:"handover,omitzero" jsonschema:"Which decode replica continues after a prefill replica: a routing policy. Default: least-tokens."`
	Transfer     Transfer `json:"transfer,omitzero" jsonschema:"How KV caches are sent from prefill to decode replicas."`
	Encoders     int      `json:"encoders,omitempty" min:"1" max:"10000" jsonschema:"Number of accelerators, like those of the first pool, that encode images and sounds. Default: replicas encode them."`
	Admission    Policy   `json:"admission,omitzero" jsonschema:"Which requests are admitted. Default: all."`
	QueueTimeout Span     `json:"queue-timeout,omitempty" above:"0" jsonschema:"Longest time from arrival to the first step, after which a request is ended."`
	Announce     Span     `json:"announce,omitempty" above:"0" jsonschema:"How long in advance the next turn of a session is announced. The fleet then chooses the replica, which fetches what disks and pools have of the prompt."`
	Outages      []Outage `json:"outages,omitempty" jsonschema:"Failures of replicas."`
	Retries      int      `json:"retries,omitempty" min:"0" jsonschema:"How often a request begins anew on another replica after its replica failed."`
	RetryDelay   Span     `json:"retry-delay,omitempty" above:"0" jsonschema:"Time until a failure is noticed."`

	RoundTrip Span       `json:"round-trip,omitempty" min:"0" jsonschema:"How long a message takes from a user to a replica and back."`
	Distances []Distance `json:"distances,omitempty" jsonschema:"How long messages take between regions, if pools have regions."`
}

// Distance is the time between users of one region and replicas of another, in both directions.
type Distance struct {
	From      string `json:"from" required:"true" jsonschema:"A region of pools or classes."`
	To        string `json:"to" required:"true" jsonschema:"Another region, or the same."`
	RoundTrip Span   `json:"round-trip" min:"0" jsonschema:"How long a message takes there and back."`
}

// Scaling is a scaling policy with the start of a replica.
type Scaling struct {
	Policy    string            `json:"policy,omitempty" short:"true" jsonschema:"Name of the policy."`
	Every     Span              `json:"every,omitempty" above:"0" jsonschema:"Time between decisions. Default: 15s."`
	Min       *int              `json:"min,omitempty" min:"0" jsonschema:"Least number of replicas, and that at the start. With 0, all stop while there are no requests. Default: 1."`
	ColdStart ColdStart         `json:"cold-start,omitzero" jsonschema:"What it takes to start a replica."`
	Params    map[string]string `json:"-" rest:"true"`
}

// Least returns the least number of replicas: 1 unless it is given.
func (s *Scaling) Least() int {
	if s.Min == nil {
		return 1
	}
	return *s.Min
}

// Transfer describes the way of KV caches from prefill to decode replicas.
type Transfer struct {
	Link     string `json:"link,omitempty" short:"true" jsonschema:"Link that all transfers share. Default: the slowest of the pools' networks."`
	Ports    int    `json:"ports,omitempty" min:"1" max:"4096" jsonschema:"Number of such links of a replica. Default: one for each accelerator."`
	Overhead Span   `json:"overhead,omitempty" above:"0" jsonschema:"Additional time of each transfer, such as for handshakes: about 8ms on A100s and 5ms on H100s with Splitwise (ISCA 2024, figure 14)."`
	Whole    bool   `json:"whole,omitempty" jsonschema:"Whether a KV cache is sent after the whole prompt is computed. Default: no, layer by layer."`
	// FirstToken is set once pools are resolved.
	FirstToken string `json:"first-token,omitempty" enum:"prefill,decode" jsonschema:"Which replica sends the first token to the user. Default: as the engine does."`
}

// Outage is a failure of one replica.
type Outage struct {
	Replica int  `json:"replica" min:"0" jsonschema:"Replica, counted from 0 through all pools."`
	At      Span `json:"at" required:"true" jsonschema:"When it fails."`
	For     Span `json:"for,omitempty" above:"0" jsonschema:"How long it is down. Default: for ever."`
}

// Pool is a group of equal replicas. A section that it leaves out is that at the top of the
// scenario. A list that it has replaces the list at the top as a whole.
type Pool struct {
	Name        string       `json:"name,omitempty" jsonschema:"Name of the pool in reports. Default: its role."`
	Role        string       `json:"role,omitempty" enum:"mixed,prefill,decode" jsonschema:"What its replicas compute: prompts, answers, or both. Default: mixed."`
	Replicas    int          `json:"replicas" required:"true" min:"1" max:"100000" jsonschema:"Number of replicas; with scaling, the largest number."`
	Model       string       `json:"model,omitempty" jsonschema:"Model that its replicas serve. Default: that of the scenario."`
	Hardware    Hardware     `json:"hardware,omitzero" jsonschema:"As in the scenario, whose value is the default."`
	Parallelism Parallelism  `json:"parallelism,omitzero" jsonschema:"As in the scenario, whose value is the default."`
	Engine      Engine       `json:"engine,omitzero" jsonschema:"As in the scenario, whose value is the default."`
	Steps       *StepTimes   `json:"steps,omitempty" jsonschema:"As in the scenario, whose value is the default."`
	Batching    Policy       `json:"batching,omitzero" jsonschema:"As in the scenario, whose value is the default."`
	Memory      KVMemory     `json:"memory,omitzero" jsonschema:"As in the scenario, whose value is the default."`
	Speculation *Speculation `json:"speculation,omitempty" jsonschema:"As in the scenario, whose value is the default."`
	Scaling     Scaling      `json:"scaling,omitzero" jsonschema:"When replicas start and stop. Default: all run all the time."`

	Region    string  `json:"region,omitempty" jsonschema:"Region of its replicas. All pools have one, or none has."`
	MaxPrompt int     `json:"max-prompt,omitempty" min:"1" jsonschema:"Longest prompt that comes to the pool, in tokens. Of the pools of a model, a request goes to those with the least that its prompt does not exceed. Default: any."`
	Weight    float64 `json:"weight,omitempty" above:"0" max:"1000" jsonschema:"With weighted routing: how many requests a replica of the pool gets for each that one of weight 1 does. Default: 1."`
}

// ColdStart describes the start of a replica.
type ColdStart struct {
	Boot    Span   `json:"boot,omitempty" above:"0" jsonschema:"Time in which machine, container and engine start, without loading weights."`
	Disk    string `json:"disk,omitempty" jsonschema:"Host from whose disk weights are read."`
	Network string `json:"network,omitempty" jsonschema:"Link over which each accelerator fetches its part of the weights."`
}

// Speculation describes speculative decoding: the drafter, the acceptance of drafts, and their
// length.
type Speculation struct {
	Method      string        `json:"method" kind:"true" enum:"draft-model,eagle,mtp,medusa,n-gram,layer-skip" jsonschema:"Drafter."`
	Draft       string        `json:"draft,omitempty" need:"draft-model" jsonschema:"Draft model, as with model."`
	Weights     string        `json:"weights,omitempty" only:"draft-model" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m,q5_k_m,q6_k,q8_0" jsonschema:"Number format of the draft model's weights. Default: as published."`
	Tensor      int           `json:"tensor,omitempty" only:"draft-model" min:"1" max:"4096" jsonschema:"Number of accelerators that share the draft model. Default: as the model, or 1 on accelerators of its own."`
	Accelerator string        `json:"accelerator,omitempty" only:"draft-model" jsonschema:"Accelerators of the draft model's own, in addition to each replica's. Default: it shares those of the model."`
	Ahead       bool          `json:"ahead,omitempty" only:"draft-model" jsonschema:"Whether the next draft is made while the last one is verified, on accelerators of its own."`
	Vocabulary  int           `json:"vocabulary,omitempty" only:"eagle" min:"1" jsonschema:"Number of tokens that the head can draft, 32000 for EAGLE-3. Default: all, with the model's output head."`
	Head        string        `json:"head,omitempty" only:"eagle,mtp" jsonschema:"Published head or module, such as yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, whose measured acceptance and vocabulary are taken where they are not given. models/heads.csv lists them."`
	Layers      int           `json:"layers,omitempty" need:"layer-skip" min:"1" jsonschema:"Number of layers of the model that draft."`
	Match       float64       `json:"match,omitempty" only:"n-gram" above:"0" max:"1" jsonschema:"Share of steps in which the look-up finds a draft. Default: 1, or the measured share."`
	Tokens      int           `json:"tokens,omitempty" min:"1" max:"64" jsonschema:"Largest number of tokens drafted in a row. Default: 4."`
	Tree        *Tree         `json:"tree,omitempty" only:"draft-model,eagle,medusa" jsonschema:"Shape of drafts that are trees. Default: drafts are chains."`
	Acceptance  Acceptance    `json:"acceptance,omitzero" jsonschema:"Probability that drafted tokens are accepted. It must be given, or head."`
	Length      Policy        `json:"length,omitzero" jsonschema:"How many tokens are drafted in a step. Default: fixed."`
	Scheduling  string        `json:"scheduling,omitempty" enum:"asynchronous,synchronous" jsonschema:"Whether a step is scheduled before the last one's drafts are verified. Default: as the engine does; synchronous for medusa and n-gram."`
	Overhead    DraftOverhead `json:"overhead,omitzero" jsonschema:"Host's time for drafting, without the drafter itself."`
	Baseline    string        `json:"baseline,omitempty" enum:"run,skip" jsonschema:"Whether the scenario also runs without drafts, for the speed-up. Default: run."`
}

// Tree is the shape of drafts with alternatives.
type Tree struct {
	Width    int     `json:"width" required:"true" min:"1" max:"64" jsonschema:"Number of candidates after each token, and of tokens at each depth that get candidates."`
	Nodes    int     `json:"nodes,omitempty" min:"1" jsonschema:"Number of tokens to verify, the most likely ones of the tree. Default: all."`
	Siblings float64 `json:"siblings,omitempty" above:"0" max:"1" jsonschema:"Probability that a candidate is right if those before it are wrong. Default: 0.22 (SpecInfer, arXiv:2305.09781, section 3)."`
}

// defaultSiblings is s in 1 − (1 − s)⁴ = 0.19/0.30, see Tree.
const defaultSiblings = 0.22

// Acceptance gives the probability that drafted tokens are accepted.
type Acceptance struct {
	Law       string    `json:"law,omitempty" kind:"true" enum:"constant,by-position,beta,measured" jsonschema:"Kind of distribution."`
	Rate      float64   `json:"rate,omitempty" short:"true" need:"constant" above:"0" max:"1" jsonschema:"Acceptance rate of every token, given that the tokens before it were accepted."`
	Positions []float64 `json:"positions,omitempty" need:"by-position" min:"0" max:"1" jsonschema:"Acceptance rate at each position of a draft; the last rate holds for all further positions."`
	Mean      float64   `json:"mean,omitempty" need:"beta" above:"0" below:"1" jsonschema:"Mean of the requests' acceptance rates."`
	Std       float64   `json:"std,omitempty" need:"beta" above:"0" below:"0.5" jsonschema:"Their standard deviation."`
	File      string    `json:"file,omitempty" need:"measured" jsonschema:"A table of acceptance in JSON, as llmsim gpt2 writes it."`
}

// DraftOverhead is time of the host.
type DraftOverhead struct {
	Step     Span `json:"step,omitempty" min:"0" jsonschema:"Time for each step with drafts."`
	Sequence Span `json:"sequence,omitempty" min:"0" jsonschema:"Additional time for each sequence with a draft in the step."`
}

// shape returns the form of drafts.
func (sp *Speculation) shape() speculation.Shape {
	if sp.Tree == nil {
		return speculation.Shape{Depth: sp.Tokens, Width: 1}
	}
	return speculation.Shape{Depth: sp.Tokens, Width: sp.Tree.Width, Nodes: sp.Tree.Nodes,
		Siblings: sp.Tree.Siblings}
}
