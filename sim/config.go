package sim

import (
	"errors"
	"fmt"
)

// Config is a simulation: who asks, who serves, and who watches.
type Config struct {
	// Source yields the requests; nil where all are pushed from outside, see Simulation.Push.
	Source Source
	// Router picks a replica for each.
	Router Router
	// Handover picks the replica that decodes what a prefill replica has computed; needed where
	// there are any.
	Handover Router
	// Replicas lists the servers, at least one.
	Replicas []ReplicaConfig
	// Links carry KV caches from prefill replicas to decode replicas, see ReplicaConfig.Link.
	Links []Link
	// Admission may turn requests away on arrival; nil takes all.
	Admission Admission
	// QueueTimeout ends requests that have not begun to run so long after their arrival; 0 means
	// none.
	QueueTimeout Time
	// Outages are failures of replicas, Retry says what becomes of their requests.
	Outages []Outage
	Retry   Retry
	// Scalings start and stop replicas, at most one for a pool.
	Scalings []Scaling
	// Observer watches; nil where only the Result matters.
	Observer Observer
	// Tokens, where it is set, is called for each sequence to which tokens came out: n at the given
	// time, or one after another up to then where steps were leapt. Answers of static batches come
	// out as a whole. A request that began anew after a failure repeats its tokens; s.Progress
	// returns how many it has.
	Tokens func(s *Sequence, n int, at Time)
	// SampleEvery is the time between state samples; 0 means none.
	SampleEvery Time
	// MaxLeap bounds the steps taken at once; 0 means no bound, 1 steps through every token. The
	// result is the same.
	MaxLeap int64
}

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
	// Off replicas do not run at first; a Scaler may start them. ColdStart is the time from then
	// until they take requests.
	Off       bool
	ColdStart Time
	// Steady replicas run whatever a Scaler of their pool says.
	Steady bool
}

// Router picks the replica that serves a request.
type Router interface {
	// Route returns the index of a replica that takes requests, of the pool or one of its siblings.
	// The pool has one at least.
	Route(r *Request, pool *Pool) int
}

// Admission decides who is served.
type Admission interface {
	// Admit reports whether r, which arrives for the pool, is let in.
	Admit(r *Request, pool *Pool) bool
}

func (c *Config) check() error {
	switch {
	case c.Router == nil:
		return errors.New("sim: no router")
	case len(c.Replicas) == 0:
		return errors.New("sim: no replicas")
	case c.SampleEvery < 0:
		return fmt.Errorf("sim: SampleEvery is %v, want 0 or more", c.SampleEvery)
	case c.MaxLeap < 0:
		return fmt.Errorf("sim: MaxLeap is %d, want 0 or more", c.MaxLeap)
	}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		switch {
		case r.Scheduler == nil || r.Memory == nil || r.Clock == nil:
			return fmt.Errorf("sim: replica %d lacks a scheduler, a memory or a clock", i)
		case r.Stages < 0:
			return fmt.Errorf("sim: replica %d has %d pipeline stages, want 1 or more", i, r.Stages)
		case r.Lookahead < 0 || r.Lookahead > 1:
			return fmt.Errorf("sim: replica %d looks %d steps ahead, want 0 or 1", i, r.Lookahead)
		case r.Speculator != nil && r.Stages > 1:
			return fmt.Errorf("sim: replica %d drafts tokens and has %d pipeline stages, want 1",
				i, r.Stages)
		case r.Host.Tokens < 0 || !r.Host.Time.valid():
			return fmt.Errorf("sim: replica %d has host memory for %d tokens, %v each, want 0 or "+
				"more",
				i, r.Host.Tokens, r.Host.Time.Token)
		case r.Latency < 0:
			return fmt.Errorf("sim: replica %d has latency %v, want 0 or more", i, r.Latency)
		}
	}
	return c.checkFleet()
}

// Result is what can be counted without an Observer.
type Result struct {
	// Arrived = Completed + Rejected + TimedOut + Cancelled + Lost: each request ends in one way.
	Arrived, Completed, Rejected, TimedOut, Cancelled, Lost int64
	// Retries is how often a request began anew after a failure.
	Retries int64
	// End is the time at which the last request ended, with an answer or without.
	End Time
	// Replicas has one entry a replica.
	Replicas []ReplicaResult
	// Links has one entry a link.
	Links []LinkResult
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
