package scenarios

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

// Distance is how far users of one region are from replicas of another, and the other way round.
type Distance struct {
	From      string `json:"from" required:"true" jsonschema:"A region of pools or classes."`
	To        string `json:"to" required:"true" jsonschema:"Another region, or the same."`
	RoundTrip Span   `json:"round-trip" min:"0" jsonschema:"How long a message takes there and back."`
}

// Scaling is a scaling policy with the start of a replica.
type Scaling struct {
	Policy    string            `json:"policy,omitempty" short:"true" jsonschema:"Name of the policy."`
	Every     Span              `json:"every,omitempty" above:"0" jsonschema:"Time between decisions. Default: 15s."`
	Min       int               `json:"min,omitempty" min:"1" jsonschema:"Least number of replicas, and that at the start. Default: 1."`
	ColdStart ColdStart         `json:"cold-start,omitzero" jsonschema:"What it takes to start a replica."`
	Params    map[string]string `json:"-" rest:"true"`
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
	For     Span `json:"for,omitempty" above:"0" jsonschema:"How long it is away. Default: for ever."`
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

	Region string `json:"region,omitempty" jsonschema:"Region of its replicas. All pools have one, or none has."`
}

// ColdStart describes the start of a replica.
type ColdStart struct {
	Boot    Span   `json:"boot,omitempty" above:"0" jsonschema:"Time in which machine, container and engine start, without loading weights."`
	Disk    string `json:"disk,omitempty" jsonschema:"Host from whose disk weights are read."`
	Network string `json:"network,omitempty" jsonschema:"Link over which each accelerator fetches its part of the weights."`
}
