package scenarios

// Fleet describes how replicas work together, fail, start and stop.
type Fleet struct {
	Pools        []Pool   `json:"pools,omitempty" jsonschema:"Groups of replicas by what they do. Default: one group that computes prompts and answers, with the number of replicas given by replicas."`
	Handover     Policy   `json:"handover,omitzero" jsonschema:"Which decode replica continues after a prefill replica: a routing policy and its parameters. Default: least-tokens."`
	Transfer     Transfer `json:"transfer,omitzero" jsonschema:"How KV caches are sent from prefill to decode replicas."`
	Encoders     int      `json:"encoders,omitempty" min:"1" max:"10000" jsonschema:"The number of accelerators, like those of the first pool, that encode images and sounds before a request goes to a replica. Default: none, replicas encode in the steps of prompts."`
	Admission    Policy   `json:"admission,omitzero" jsonschema:"Which requests are admitted: an admission policy and its parameters. Default: all."`
	QueueTimeout Span     `json:"queue-timeout,omitempty" above:"0" jsonschema:"The longest time from arrival to the first step. Requests that wait longer are ended. Default: no limit."`
	Announce     Span     `json:"announce,omitempty" above:"0" jsonschema:"How long in advance the next turn of a session is announced, such as when its tool is about to end. The fleet then chooses the replica, which fetches what disks and pools have of the prompt. Default: none."`
	Outages      []Outage `json:"outages,omitempty" jsonschema:"Failures of replicas."`
	Retries      int      `json:"retries,omitempty" min:"0" jsonschema:"How often a request begins anew on another replica after its replica failed. Default: 0, the request is lost."`
	RetryDelay   Span     `json:"retry-delay,omitempty" above:"0" jsonschema:"The time until a failure is noticed. Default: none."`

	RoundTrip Span       `json:"round-trip,omitempty" min:"0" jsonschema:"How long a message takes from a user to a replica and back, if it is the same for all. Default: none."`
	Distances []Distance `json:"distances,omitempty" jsonschema:"How long messages take between regions, if pools have regions."`
}

// Distance is how far users of one region are from replicas of another, and the other way round.
type Distance struct {
	From      string `json:"from" required:"true" jsonschema:"A region of pools or classes."`
	To        string `json:"to" required:"true" jsonschema:"Another region, or the same."`
	RoundTrip Span   `json:"round-trip" min:"0" jsonschema:"How long a message takes from a user of one to a replica of the other and back. Default within a region: none."`
}

// Scaling is a scaling policy with the start of a replica.
type Scaling struct {
	Policy    string            `json:"policy,omitempty" short:"true" jsonschema:"The name of the scaling policy."`
	Every     Span              `json:"every,omitempty" above:"0" jsonschema:"The time between decisions. Default: 15s."`
	Min       int               `json:"min,omitempty" min:"1" jsonschema:"The least number of replicas, with which the pool starts. Default: 1."`
	ColdStart ColdStart         `json:"cold-start,omitzero" jsonschema:"What it takes to start a replica. Default: nothing."`
	Params    map[string]string `json:"-" rest:"true"`
}

// Transfer describes the way of KV caches from prefill to decode replicas.
type Transfer struct {
	Link     string `json:"link,omitempty" short:"true" jsonschema:"The link that all transfers share, from the catalogue. Default: the slowest of the pools' networks."`
	Ports    int    `json:"ports,omitempty" min:"1" max:"4096" jsonschema:"The number of such links of a replica. Default: one for each accelerator."`
	Overhead Span   `json:"overhead,omitempty" above:"0" jsonschema:"The additional time of each transfer, for example for handshakes: about 8ms on A100s and 5ms on H100s with Splitwise (ISCA 2024, figure 14). Default: none."`
	Whole    bool   `json:"whole,omitempty" jsonschema:"Whether a KV cache is sent after the whole prompt is computed. Default: no, layer by layer."`
	// FirstToken is set once pools are resolved.
	FirstToken string `json:"first-token,omitempty" enum:"prefill,decode" jsonschema:"Which replica sends the first token to the user: the one that computed the prompt, or the one that decodes, as soon as it has a place for the request. Default: as the engine does."`
}

// Outage is a failure of one replica.
type Outage struct {
	Replica int  `json:"replica" min:"0" jsonschema:"The number of the replica, counted from 0 through all pools."`
	At      Span `json:"at" required:"true" jsonschema:"When it fails."`
	For     Span `json:"for,omitempty" above:"0" jsonschema:"The time when it is back. Default: never."`
}

// Pool is a group of equal replicas. A section that it leaves out is that at the top of the
// scenario. A list that it has replaces the list at the top as a whole.
type Pool struct {
	Name        string       `json:"name,omitempty" jsonschema:"The name of the pool in reports. Default: its role."`
	Role        string       `json:"role,omitempty" enum:"mixed,prefill,decode" jsonschema:"What its replicas compute: prompts (prefill), answers (decode), or both (mixed). Default: mixed."`
	Replicas    int          `json:"replicas" required:"true" min:"1" max:"100000" jsonschema:"The number of replicas; with scaling, the largest number."`
	Model       string       `json:"model,omitempty" jsonschema:"The model that its replicas serve. A request goes to the pools that serve its model. Default: that of the scenario."`
	Hardware    Hardware     `json:"hardware,omitzero" jsonschema:"Their accelerators. Default: those of the scenario."`
	Parallelism Parallelism  `json:"parallelism,omitzero" jsonschema:"How each replica is spread over accelerators. Default: that of the scenario."`
	Engine      Engine       `json:"engine,omitzero" jsonschema:"Their serving engine. Default: that of the scenario."`
	Steps       *StepTimes   `json:"steps,omitempty" jsonschema:"Measured or fitted step times. Default: those of the scenario, or predicted ones."`
	Batching    Policy       `json:"batching,omitzero" jsonschema:"Which requests are in the next step: a policy and its parameters. Default: that of the scenario."`
	Memory      KVMemory     `json:"memory,omitzero" jsonschema:"How the KV cache is stored: a policy and its parameters. Default: that of the scenario."`
	Speculation *Speculation `json:"speculation,omitempty" jsonschema:"Speculative decoding. Default: that of the scenario."`
	Scaling     Scaling      `json:"scaling,omitzero" jsonschema:"When replicas start and stop: a scaling policy and its parameters. Default: all replicas run all the time."`

	Region string `json:"region,omitempty" jsonschema:"The region of its replicas. All pools have one, or none has."`
}

// ColdStart describes the start of a replica.
type ColdStart struct {
	Boot    Span   `json:"boot,omitempty" above:"0" jsonschema:"The time in which machine, container and engine start, without the loading of weights. Default: none."`
	Disk    string `json:"disk,omitempty" jsonschema:"The host from whose disk weights are read, from the catalogue."`
	Network string `json:"network,omitempty" jsonschema:"The link over which each accelerator fetches its part of the weights, from the catalogue."`
}
