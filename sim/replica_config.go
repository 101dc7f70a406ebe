package sim

import "math"

// ReplicaConfig is one server: a model on one or more accelerators, with its own queue.
type ReplicaConfig struct {
	Scheduler Scheduler
	Memory    Memory
	Pooling   Pooling
	Disk      Disk
	// Encodings is the cache of encoded images and sounds; nil where nothing is kept.
	Encodings EncoderCache
	Clock     StepClock
	// Speculator drafts tokens; nil where sequences decode one token a step. It needs a replica of
	// one stage.
	Speculator Speculator
	// Host is the host memory to which KV caches can be swapped out.
	Host HostMemory
	// Stages is the number of pipeline stages, each with a batch of its own; 0 means 1.
	Stages int
	// Lookahead is the number of steps that are planned before the running step ends. It is 0, or 1
	// for asynchronous scheduling, where a new request also waits for the step after the running
	// one. It applies without a pipeline only.
	Lookahead int
	// Latency is added between every token and the user (network, tokenisation, HTTP).
	Latency Time
	// PromptLatency is added to it for each token of the request's prompt (tokenisation).
	PromptLatency Time
	// RoundTrips are added to Latency: how long a message takes from a user to the replica and
	// back, by Request.Region. It is 0 for regions beyond the list.
	RoundTrips []Time
	// MaxContext is the largest number of tokens of a prompt and its answer together that the
	// replica serves; 0 means no bound.
	MaxContext int

	// Model is the index of the served model, as in Request.Model, and Role says which phases of a
	// request the replica serves. MaxPrompt is the longest prompt of the requests that come to it,
	// in tokens, 0 for any: of the replicas of a model, a request goes to those with the least that
	// its prompt does not exceed. Replicas that agree in all three make a Pool.
	Model     int
	Role      Role
	MaxPrompt int
	// Weight is how many requests come to the replica for each that comes to one of weight 1, if
	// the router goes by weight; 0 counts as 1.
	Weight float64
	// Link is the index in Config.Links over which a prefill replica sends KV caches, of KVBytes
	// byte, in Layers parts that become ready one after another; 0 parts count as 1.
	Link    int
	KVBytes Footprint[int64]
	Layers  int
	// Relays makes a prefill replica send the first token along with the KV cache, so that the user
	// gets it when the decode replica begins with the request. Otherwise the prefill replica sends
	// the first token to the user.
	Relays bool
	// FirstChunk is the number of tokens that a decode replica sends at once at the start, to the
	// user of a request with a relayed first token. They come after that number of steps, each
	// taken as long as the first. 0 means that the first token comes alone, before the others.
	FirstChunk float64
	// Off means that the replica does not run at first; a Scaler may start it. ColdStart is the
	// time from the start until the replica takes requests.
	Off       bool
	ColdStart Time
	// Steady means that the replica always runs, whatever a Scaler of its pool says.
	Steady bool
	// Group is the number of a group of replicas, below the number of replicas. Config.Apart does
	// not run replicas of a group at the same time, so that they may share a clock or other state.
	Group int
	// Set is the number of a set of replicas, below the number of replicas, whose requests
	// Result.Sets counts together.
	Set int
}

// Role says which phases of a request a replica serves.
type Role int

// Roles of replicas.
const (
	// Mixed replicas serve a request from prompt to answer.
	Mixed Role = iota
	// Prefill replicas compute prompts and the first token, and hand the request and its KV cache
	// over to a decode replica.
	Prefill
	// Decode replicas continue the requests of prefill replicas. They can also serve whole
	// requests, if a router sends them some.
	Decode
)

// HostMemory is the memory in which the KV caches of preempted sequences can wait, with the link to
// it, such as PCIe.
type HostMemory struct {
	// Tokens is the size of the memory, in tokens of context; 0 means that nothing can be swapped
	// out.
	Tokens int64
	// Time is the time that the KV cache of a sequence takes on the link, in either direction.
	// Transfers take place one after another.
	Time Footprint[Time]
	// Parts is the number of parts, such as layers, that come one after another in a transfer, and
	// whose computation can begin when they are there; 0 and 1 mean that a step begins when its
	// transfers are done.
	Parts int
}

// maxFirstChunk is the largest FirstChunk.
const maxFirstChunk = 1000

// Disk connects a replica with a disk of its own from which KV caches are prefetched.
type Disk struct {
	// Memory is nil where nothing is prefetched.
	Memory PrefetchedMemory
	// Reads are indices in Config.Wires: what a transfer from the disk passes; one at least, and
	// each once.
	Reads []int
	// Patience returns the longest time, from 0, for which a request waits for a read of that many
	// bytes, where Memory is a PartMemory. It then goes on with what has come. Nil means that it
	// waits for all.
	Patience func(bytes int64) Time
}

// Pooling connects a replica with a pool of KV caches.
type Pooling struct {
	// Memory is nil where there is no pool.
	Memory PooledMemory
	// Reads and Writes are indices in Config.Wires: what a transfer from the pool passes, and what
	// one to it passes; one at least, and each once.
	Reads, Writes []int
}

// poolKey has the fields that the replicas of a pool share.
type poolKey struct {
	model     int
	role      Role
	maxPrompt int // 0 for any
}

func (c *ReplicaConfig) key() poolKey { return poolKey{c.Model, c.Role, c.MaxPrompt} }

// longest returns the longest prompt that comes to the pool.
func (k poolKey) longest() int {
	if k.maxPrompt == 0 {
		return math.MaxInt
	}
	return k.maxPrompt
}
