package policies

import (
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// routingPolicies returns the routers of package routing, the default first.
func routingPolicies() []Policy[sim.Router] {
	const jump = "Lamping and Veach, jump consistent hash, arXiv:1406.2294"
	return []Policy[sim.Router]{
		{
			Name: "round-robin", Doc: "replicas in turn",
			Settings: roundRobin{},
		},
		{
			Name: "random", Doc: "any replica, evenly",
			Settings: router(func(d Deployment) sim.Router { return routing.NewRandom(d.Seed) }),
		},
		{
			Name:     "least-requests",
			Doc:      "the replica with the fewest unfinished requests (join the shortest queue)",
			Settings: router(func(Deployment) sim.Router { return routing.LeastRequests{} }),
		},
		{
			Name:     "least-tokens",
			Doc:      "the replica with the fewest prompt tokens of unfinished requests",
			Settings: router(func(Deployment) sim.Router { return routing.LeastTokens{} }),
		},
		{
			Name: "choices", Doc: "the better of a few replicas drawn at random",
			Source:   `Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, IEEE TPDS 12(10), 2001`,
			Settings: choices{},
		},
		{
			Name: "weighted", Doc: "replicas in turn, as often as the weight of their pool says",
			Source:   "nginx, smooth weighted round-robin",
			Settings: router(func(Deployment) sim.Router { return &routing.Weighted{} }),
		},
		{
			Name:     "nearest",
			Doc:      `the region nearest to the user, and there the better of two replicas drawn at random; the next region where that is busy`,
			Settings: nearestRegion{},
		},
		{
			Name:     "session-affinity",
			Doc:      `all requests of a conversation to the same replica, others to the one with the fewest`,
			Source:   jump,
			Settings: router(func(Deployment) sim.Router { return routing.SessionAffinity{} }),
		},
		{
			Name:     "adapter-affinity",
			Doc:      `all requests for an adapter to the same replica, others to the one with the fewest`,
			Source:   jump,
			Settings: router(func(Deployment) sim.Router { return routing.AdapterAffinity{} }),
		},
		{
			Name:     "prefix-aware",
			Doc:      `the replica that last served the longest beginning of the prompt, unless it has too much to do`,
			Source:   "SGLang's cache-aware router: sgl-router/src/policies/cache_aware.rs, v0.4",
			Settings: prefixAware{},
		},
		{
			Name:     "kv-aware",
			Doc:      "the replica with the lowest share of KV memory in use, as last reported",
			Source:   "Mitzenmacher, How Useful Is Old Information?, IEEE TPDS 11(1), 2000",
			Settings: kvAware{},
		},
		{
			Name:     "gateway-api",
			Doc:      `the replica with the highest sum of weighted scores for the cached part of the prompt, free KV memory and a short queue`,
			Source:   `gateway-api-inference-extension v1: prefix-cache-scorer, kv-cache-utilization-scorer, queue-scorer`,
			Settings: scored{},
		},
		{
			Name:     "llm-d",
			Doc:      `gateway-api with what replicas report of their caches, scored between the least and the most that any has`,
			Source:   `llm-d: precise-prefix-cache-scorer, with the weights of llm-d-kv-cache's README`,
			Settings: scored{spread: true},
			Defaults: map[string]string{"prefix": "2", "usage": "1", "queue": "1",
				"index": "exact"},
		},
		{
			Name:     "dynamo",
			Doc:      "the replica with the fewest blocks of prompts to compute and to keep",
			Source:   `Dynamo: lib/llm/src/kv_router/scheduler.rs, kv-overlap-score-weight`,
			Settings: dynamo{}, Defaults: map[string]string{"index": "exact"},
		},
		{
			Name:     "slo-aware",
			Doc:      `the replica with the fewest unfinished requests if it is predicted to keep a time to first token, else the soonest`,
			Source:   "compare Qin et al., Mooncake, FAST 2025, algorithm 1",
			Settings: promised[sim.Router]{},
		},
		{
			Name:     "splitwise",
			Doc:      `the shortest queue of the phase's pool, of the mixed pool, or of the other phase's, in this order`,
			Source:   "Patel et al., Splitwise, ISCA 2024, section 4.2",
			Settings: splitwise{},
		},
	}
}

func router(make func(Deployment) sim.Router) Settings[sim.Router] {
	return plain[sim.Router]{make}
}

type roundRobin struct {
	Frontends int `json:"frontends" default:"1" jsonschema:"frontends that each send to the replicas in turn; a request comes to one of them at random"`
}

func (s roundRobin) New(d Deployment) (sim.Router, error) {
	if s.Frontends == 1 {
		return &routing.RoundRobin{}, nil
	}
	return routing.NewFrontends(s.Frontends, d.Seed)
}

type choices struct {
	Choices int `json:"choices" default:"2" jsonschema:"replicas drawn"`
}

func (s choices) New(d Deployment) (sim.Router, error) {
	return routing.NewChoices(s.Choices, d.Seed)
}

type nearestRegion struct {
	Spill int `json:"spill" default:"64" jsonschema:"unfinished requests with which a replica counts as busy"`
}

func (s nearestRegion) New(d Deployment) (sim.Router, error) {
	return routing.NewNearest(s.Spill, d.Seed)
}

type prefixAware struct {
	Beginnings int     `json:"beginnings" default:"1000000" jsonschema:"beginnings that are remembered"`
	Share      float64 `json:"share" default:"0.5" jsonschema:"share of the prompt that must be known for a replica to be preferred"`
	Slack      int     `json:"slack" default:"32" jsonschema:"unfinished requests that a replica may have more than the one with the fewest"`
}

func (s prefixAware) New(Deployment) (sim.Router, error) {
	return routing.NewPrefixAware(s.Beginnings, s.Share, s.Slack)
}

type kvAware struct {
	Period  Span `json:"period" default:"100ms" jsonschema:"time between reports; 0s for always fresh"`
	Choices int  `json:"choices" default:"2" jsonschema:"replicas drawn at random to choose from; 0 for all"`
}

func (s kvAware) New(d Deployment) (sim.Router, error) {
	return routing.NewKVAware(sim.Time(s.Period), s.Choices, d.Seed)
}

// cacheIndex is a router's knowledge of the caches of replicas.
type cacheIndex struct {
	Index      string  `json:"index" default:"approximate" enum:"exact,approximate" jsonschema:"what is known of caches: what replicas report (exact), or what was sent to them (approximate)"`
	Period     Span    `json:"period" default:"0s" jsonschema:"time between the reports of a replica; 0s for always fresh"`
	Loss       float64 `json:"loss" default:"0" jsonschema:"share of the reported events that are lost"`
	Remembered int     `json:"remembered" default:"31250" jsonschema:"blocks of 16 tokens that an approximate index remembers for each replica"`
}

func (c *cacheIndex) router(s routing.Scoring, d Deployment) (sim.Router, error) {
	return routing.NewCached(s, routing.Index{Exact: c.Index == "exact",
		Period: sim.Time(c.Period), Loss: c.Loss, Remembered: c.Remembered, Seed: d.Seed}, d.Seed)
}

// scored has the weights of the scorers of gateway-api-inference-extension.
type scored struct {
	Prefix float64 `json:"prefix" default:"3" jsonschema:"weight of the share of the prompt that is cached"`
	Usage  float64 `json:"usage" default:"2" jsonschema:"weight of the share of KV memory that is free"`
	Queue  float64 `json:"queue" default:"2" jsonschema:"weight of a queue that is shorter than the longest"`
	cacheIndex
	spread bool
}

func (s scored) New(d Deployment) (sim.Router, error) {
	return s.router(routing.Scoring{Prefix: s.Prefix, Usage: s.Usage, Queue: s.Queue,
		Spread: s.spread}, d)
}

type dynamo struct {
	Prefix float64 `json:"prefix" default:"1" jsonschema:"weight of blocks to compute against blocks to keep"`
	cacheIndex
}

func (s dynamo) New(d Deployment) (sim.Router, error) {
	return s.router(routing.Scoring{Prefix: s.Prefix, Blocks: true}, d)
}

// promised is the settings of a router or an admission that keeps a time to first token.
type promised[T any] struct {
	TTFT Span `json:"ttft" default:"0s" jsonschema:"the time to first token to keep; 0s for the SLO of each request"`
}

func (s promised[T]) New(Deployment) (T, error) {
	made, err := routing.NewSLOAware(sim.Time(s.TTFT))
	return any(made).(T), err
}

type splitwise struct {
	Limit int `json:"limit" default:"8192" jsonschema:"prompt tokens not computed (of unfinished requests, for hand-overs) that a replica may have before the next pool is tried"`
}

func (s splitwise) New(Deployment) (sim.Router, error) {
	return routing.NewSplitwise(int64(s.Limit))
}

// admissionPolicies returns what turns requests away, the default first.
func admissionPolicies() []Policy[sim.Admission] {
	return []Policy[sim.Admission]{
		{
			Name: "all", Doc: "everybody is let in",
			Settings: plain[sim.Admission]{func(Deployment) sim.Admission { return nil }},
		},
		{
			Name: "queue-limit", Doc: "refuses while too many requests are unfinished",
			Settings: queueLimit{},
		},
		{
			Name: "rate-limit", Doc: "a token bucket for each tenant",
			Source:   `Turner, New Directions in Communications, IEEE Communications Magazine 24(10), 1986`,
			Settings: rateLimit{},
		},
		{
			Name:     "slo-aware",
			Doc:      `refuses requests that are predicted to miss a time to first token wherever they go`,
			Source:   "early rejection: Qin et al., Mooncake, FAST 2025, section 7",
			Settings: promised[sim.Admission]{},
		},
	}
}

type queueLimit struct {
	PerReplica int `json:"per-replica" default:"256" jsonschema:"unfinished requests for each replica that takes some"`
}

func (s queueLimit) New(Deployment) (sim.Admission, error) {
	return routing.NewQueueLimit(s.PerReplica)
}

type rateLimit struct {
	Rate  float64 `json:"rate" default:"10" jsonschema:"requests a second"`
	Burst float64 `json:"burst" default:"20" jsonschema:"requests at once"`
}

func (s rateLimit) New(Deployment) (sim.Admission, error) {
	return routing.NewRateLimit(s.Rate, s.Burst)
}
