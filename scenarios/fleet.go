package scenarios

// Fleet is how replicas work together, fail, start and stop.
type Fleet struct {
	Pools        []Pool   `json:"pools,omitempty" jsonschema:"Groups of replicas by what they do. Default: one group that does everything, of as many as replicas says."`
	Handover     Policy   `json:"handover,omitzero" jsonschema:"Which decode replica goes on after a prefill replica: a routing policy and its parameters. Default: least-tokens."`
	Transfer     Transfer `json:"transfer,omitzero" jsonschema:"How KV caches go from prefill to decode replicas."`
	Admission    Policy   `json:"admission,omitzero" jsonschema:"Who is let in: an admission policy and its parameters. Default: all."`
	QueueTimeout Span     `json:"queue-timeout,omitempty" above:"0" jsonschema:"Ends requests that have not begun to run this long after they arrived. Default: never."`
	Outages      []Outage `json:"outages,omitempty" jsonschema:"Failures of replicas."`
	Retries      int      `json:"retries,omitempty" min:"0" jsonschema:"How often a request on a replica that fails begins anew on another. Default: 0, it is lost."`
	RetryDelay   Span     `json:"retry-delay,omitempty" above:"0" jsonschema:"How long it takes to notice. Default: none."`
}

// Scaling is a scaling policy and what starting a replica takes.
type Scaling struct {
	Policy    string            `json:"policy,omitempty" short:"true" jsonschema:"The name of the policy."`
	Every     Span              `json:"every,omitempty" above:"0" jsonschema:"The time between decisions. Default: 15s."`
	Min       int               `json:"min,omitempty" min:"1" jsonschema:"The least number of replicas, with which the pool starts. Default: 1."`
	ColdStart ColdStart         `json:"cold-start,omitzero" jsonschema:"What it takes to start a replica. Default: nothing."`
	Params    map[string]string `json:"-" rest:"true"`
}

// Transfer is the way of KV caches.
type Transfer struct {
	Link     string `json:"link,omitempty" short:"true" jsonschema:"The link that all transfers share, of the catalogue. Default: the slowest of the pools' networks."`
	Ports    int    `json:"ports,omitempty" min:"1" max:"4096" jsonschema:"How many of them a replica has. Default: one for each accelerator."`
	Overhead Span   `json:"overhead,omitempty" above:"0" jsonschema:"What each transfer takes beside the link, such as handshakes: about 8ms on A100s and 5ms on H100s with Splitwise (ISCA 2024, figure 14). Default: none."`
	Whole    bool   `json:"whole,omitempty" jsonschema:"Sends a KV cache when the prompt is complete. Default: layer by layer, as they are computed."`
	// FirstToken is set once pools are resolved.
	FirstToken string `json:"first-token,omitempty" enum:"prefill,decode" jsonschema:"Which replica sends the first token to the user: the one that computed the prompt, or the one that goes on, once it has a place for the request, as vLLM, SGLang and TensorRT-LLM do. Default: as the engine."`
}

// Outage is a failure of one replica.
type Outage struct {
	Replica int  `json:"replica" min:"0" jsonschema:"Which replica, counted from 0 through all pools."`
	At      Span `json:"at" required:"true" jsonschema:"When it fails."`
	For     Span `json:"for,omitempty" above:"0" jsonschema:"When it is back. Default: never."`
}

// Pool is a group of replicas that are alike. Sections that it leaves out are those at the top of
// the scenario; lists that it has stand in their place as a whole.
type Pool struct {
	Name        string       `json:"name,omitempty" jsonschema:"The name in reports. Default: the role."`
	Role        string       `json:"role,omitempty" enum:"mixed,prefill,decode" jsonschema:"What they do: prompts (prefill), answers (decode), or both (mixed). Default: mixed."`
	Replicas    int          `json:"replicas" required:"true" min:"1" max:"100000" jsonschema:"How many; with scaling, how many at most."`
	Model       string       `json:"model,omitempty" jsonschema:"The model that they serve. Default: that of the scenario. A request goes to the pools that serve its model."`
	Hardware    Hardware     `json:"hardware,omitzero" jsonschema:"Their accelerators. Default: those of the scenario."`
	Parallelism Parallelism  `json:"parallelism,omitzero" jsonschema:"Over how many accelerators each is spread. Default: that of the scenario."`
	Engine      Engine       `json:"engine,omitzero" jsonschema:"Their serving engine. Default: that of the scenario."`
	Steps       *StepTimes   `json:"steps,omitempty" jsonschema:"Step times from elsewhere. Default: those of the scenario, or predicted."`
	Batching    Policy       `json:"batching,omitzero" jsonschema:"Who runs next: a policy and its parameters. Default: that of the scenario."`
	Memory      KVMemory     `json:"memory,omitzero" jsonschema:"Where the KV cache goes: a policy and its parameters. Default: that of the scenario."`
	Speculation *Speculation `json:"speculation,omitempty" jsonschema:"Speculative decoding. Default: that of the scenario."`
	Scaling     Scaling      `json:"scaling,omitzero" jsonschema:"Starts and stops replicas: a scaling policy and its parameters. Default: all run always."`
}

// ColdStart is what it takes to start a replica.
type ColdStart struct {
	Boot    Span   `json:"boot,omitempty" above:"0" jsonschema:"The time for machine, container and engine, without the loading of weights. Default: none."`
	Disk    string `json:"disk,omitempty" jsonschema:"The host, of the catalogue, from whose disk weights are read."`
	Network string `json:"network,omitempty" jsonschema:"The link, of the catalogue, over which each accelerator fetches its part of the weights."`
}
