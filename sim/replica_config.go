package sim

// ReplicaConfig is one server: a model on one or more accelerators, with its own queue.
type ReplicaConfig struct {
	Scheduler Scheduler
	Memory    Memory
	Clock     StepClock
	// Speculator drafts tokens; nil where sequences decode one token a step. It needs a replica of
	// one stage.
	Speculator Speculator
	// Host is where KV caches can be swapped out to.
	Host HostMemory
	// Stages is the number of pipeline stages, each with a batch under way; 0 means 1.
	Stages int
	// Lookahead is the number of steps that are planned before the running one ends: 0, or 1 for
	// asynchronous scheduling, where a request also waits for the step after the running one. It
	// applies without a pipeline only.
	Lookahead int
	// Latency is added between every token and the user (network, tokenisation, HTTP).
	Latency Time
	// MaxContext is the longest prompt and answer together that is served, in tokens; 0 means no
	// bound.
	MaxContext int

	// Model is the model served, in the numbers of Request.Model, and Role the phases of a request.
	// Replicas that agree in both make a Pool.
	Model int
	Role  Role
	// Link is the index in Config.Links over which a prefill replica sends KV caches, of KVBytes
	// byte, in Layers parts that become ready one after another; 0 parts count as 1.
	Link    int
	KVBytes Footprint[int64]
	Layers  int
	// Relays has a prefill replica send the first token along with the KV cache, so that its user
	// gets it when the decode replica begins with the request. Otherwise it answers by itself.
	Relays bool
	// FirstChunk is the number of tokens that the user of a request with a relayed first token gets
	// at once from a decode replica, after as many steps as long as the first; 0 means that the
	// first token comes alone and before them.
	FirstChunk float64
	// Off replicas do not run at first; a Scaler may start them. ColdStart is the time from then
	// until they take requests.
	Off       bool
	ColdStart Time
	// Steady replicas run whatever a Scaler of their pool says.
	Steady bool
}

// Role says which phases of a request a replica serves.
type Role int

// Roles of replicas.
const (
	// Mixed replicas serve a request from prompt to answer.
	Mixed Role = iota
	// Prefill replicas compute prompts, give the first token, and hand the request and its KV cache
	// to a decode replica.
	Prefill
	// Decode replicas go on where prefill replicas stopped. They can serve whole requests too, if a
	// router sends them some.
	Decode
)

// HostMemory is where the KV caches of preempted sequences can wait, and the link to it (PCIe,
// say).
type HostMemory struct {
	// Tokens is its room, in tokens of context; 0 means that nothing can be swapped out.
	Tokens int64
	// Time is the time that what a sequence keeps takes on the link, in either direction. Transfers
	// wait for each other.
	Time Footprint[Time]
}

// ReplicaResult is the work that one replica did.
type ReplicaResult struct {
	Completed, Rejected, Preemptions int64
	// HandedOver is the number of requests that went on at another replica.
	HandedOver int64
	// Up is the time from being started until being switched off, or failing, or the end.
	Up Time
	// Busy is the time during which steps ran, a step in several pipeline stages counted once.
	Busy Time
	// Steps is the number of steps.
	Steps int64
	// PrefillTokens and DecodeTokens are the tokens that went through the linear layers; work
	// repeated after a preemption counts again.
	PrefillTokens, DecodeTokens int64
	// Sampled is the number of tokens that came out.
	Sampled int64
	// Drafted and Accepted are the tokens drafted and of them accepted; Drafting is the part of
	// Busy spent on drafts.
	Drafted, Accepted int64
	Drafting          Time
	// PaddingTokens are the tokens that a static batch computed for nothing, beside those above.
	PaddingTokens int64
	// SwappedTokens is the number of tokens whose KV went over the link to host memory, both ways
	// together.
	SwappedTokens int64
	// CachedTokens is the number of prompt tokens that the prefix cache supplied; FetchedTokens are
	// those of them that came from slower memory.
	CachedTokens, FetchedTokens int64
	// KVCapacity is the size of the KV memory, in the memory's units.
	KVCapacity int64
	// PrefillPairs is the number of (query, key) pairs of prefill attention, DecodeContext that of
	// decode attention.
	PrefillPairs, DecodeContext int64
}

// maxFirstChunk is the largest FirstChunk.
const maxFirstChunk = 1000
