package scenarios

// Scenario is the content of a scenario file: the model, the hardware, the policies and the
// workload. The tags of its fields describe the keys. The scenario reference and schema.json are
// made from these tags.
type Scenario struct {
	Name        string       `json:"name,omitempty" jsonschema:"The name of the scenario in reports."`
	Model       string       `json:"model,omitempty" required:"unless fleet" jsonschema:"A name of the catalogue (llmsim list models), the path of a Hugging Face config.json, or a mapping of a name and the keys of shape, such as {name: llama-2-7b, kv-heads: 8}." spread:"shape"`
	Shape       Shape        `json:"shape,omitzero" jsonschema:"Changes of the model's shape, or assumptions about it."`
	Hardware    Hardware     `json:"hardware,omitzero" required:"unless fleet" jsonschema:"The accelerators: a name (llmsim list hardware), or a mapping."`
	Parallelism Parallelism  `json:"parallelism,omitzero" jsonschema:"How one replica is spread over accelerators. Default: the smallest tensor parallelism that holds the model and one full context."`
	Replicas    int          `json:"replicas,omitempty" min:"1" max:"100000" jsonschema:"The number of replicas, each with its own copy of the model and its own queue. Default: 1."`
	Engine      Engine       `json:"engine,omitzero" jsonschema:"The serving engine: the name of a preset, or a mapping. Default: vllm-v1."`
	Attention   Attention    `json:"attention,omitzero" jsonschema:"The kernel that computes the attention of prompts, to show what such kernels save. Default: flash."`
	Steps       *StepTimes   `json:"steps,omitempty" jsonschema:"Measured or fitted step times, in place of predicted ones. Default: predicted."`
	Batching    Policy       `json:"batching,omitzero" jsonschema:"Which requests are in the next step: a policy (llmsim list policies) and its parameters. Default: that of the engine."`
	Memory      KVMemory     `json:"memory,omitzero" jsonschema:"How the KV cache is stored: a policy and its parameters. Default: that of the engine."`
	Caches      *Caches      `json:"caches,omitempty" jsonschema:"What KV caches hold at the start: a word, or a mapping. Default: cold."`
	Adapters    *Adapters    `json:"adapters,omitempty" jsonschema:"Low-rank adapters (LoRA). Each request or session asks for one. Default: none."`
	Routing     Policy       `json:"routing,omitzero" jsonschema:"Which replica serves a request: a policy and its parameters. Default: round-robin."`
	Speculation *Speculation `json:"speculation,omitempty" jsonschema:"Speculative decoding: a drafter proposes tokens, and the model verifies several in a step. Default: none."`
	Fleet       Fleet        `json:"fleet,omitzero" jsonschema:"How replicas work together, fail, start and stop."`
	Workload    Workload     `json:"workload,omitzero" jsonschema:"The requests, and when they arrive."`
	SLO         SLO          `json:"slo,omitzero" jsonschema:"The SLO of all requests. Default: a time to first token of 2s and 200ms for each output token, each in 99% of the requests (MLPerf Inference 4.0, Llama-2-70B server)."`
	Tokens      *TokenPrices `json:"tokens,omitempty" jsonschema:"The price at which a million tokens are sold, or cost with a provider. Default: none."`
	Seed        uint64       `json:"seed" jsonschema:"The seed of the random numbers. Default: 0."`
}

// drafts reports whether the scenario has speculative decoding.
func (s *Scenario) drafts() bool { return s.Speculation != nil }
