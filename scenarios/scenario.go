package scenarios

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
