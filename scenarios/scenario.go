package scenarios

// Scenario is what a scenario file says: which model is served on which hardware, under which
// policies, to whom. The tags of its fields describe the keys; the scenario reference and
// schema.json are made from them.
type Scenario struct {
	Name        string       `json:"name,omitempty" jsonschema:"What people call the scenario."`
	Model       string       `json:"model,omitempty" required:"unless fleet" jsonschema:"The model: a name of the catalogue (llmsim list models), or the path of a Hugging Face config.json; or a mapping of a name and the keys of shape, such as {name: llama-2-7b, kv-heads: 8}." spread:"shape"`
	Shape       Shape        `json:"shape,omitzero" jsonschema:"What is changed of the model, or assumed about it."`
	Hardware    Hardware     `json:"hardware,omitzero" required:"unless fleet" jsonschema:"The accelerators: a name of the catalogue (llmsim list hardware), or a mapping."`
	Parallelism Parallelism  `json:"parallelism,omitzero" jsonschema:"Over how many accelerators one replica is spread. Default: the smallest tensor parallelism that holds the model and one full context."`
	Replicas    int          `json:"replicas,omitempty" min:"1" max:"100000" jsonschema:"How many copies of the model serve, each with its own queue. Default: 1."`
	Engine      Engine       `json:"engine,omitzero" jsonschema:"The serving engine: the name of a preset, or a mapping. Default: vllm-v1."`
	Attention   Attention    `json:"attention,omitzero" jsonschema:"How the attention of prompts is computed, to see what its kernels save: the name of a kernel, or a mapping. Default: flash."`
	Steps       *StepTimes   `json:"steps,omitempty" jsonschema:"Step times from elsewhere, measured or fitted, in place of predicted ones. Default: predicted."`
	Batching    Policy       `json:"batching,omitzero" jsonschema:"Who runs next: a policy (llmsim list policies) and its parameters. Default: that of the engine."`
	Memory      KVMemory     `json:"memory,omitzero" jsonschema:"Where the KV cache goes: a policy and its parameters. Default: that of the engine."`
	Routing     Policy       `json:"routing,omitzero" jsonschema:"Which replica serves a request: a policy and its parameters. Default: round-robin."`
	Speculation *Speculation `json:"speculation,omitempty" jsonschema:"Speculative decoding: tokens are drafted cheaply, and the model verifies several in a step. Default: none."`
	Fleet       Fleet        `json:"fleet,omitzero" jsonschema:"How replicas work together, fail, start and stop."`
	Workload    Workload     `json:"workload,omitzero" jsonschema:"Who asks for what, and when."`
	SLO         SLO          `json:"slo,omitzero" jsonschema:"The SLO of all requests. Default: time to first token 2s and 200ms a token, each in 99% of requests (MLPerf Inference 4.0, Llama-2-70B server)."`
	Tokens      *TokenPrices `json:"tokens,omitempty" jsonschema:"What a million tokens are sold for, or cost elsewhere: the result says what those of an hour are worth. Default: nothing is said."`
	Seed        uint64       `json:"seed" jsonschema:"Selects the random numbers; the same scenario and seed give the same result everywhere. Default: 0."`
}

// drafts reports whether the scenario has speculative decoding.
func (s *Scenario) drafts() bool { return s.Speculation != nil }
