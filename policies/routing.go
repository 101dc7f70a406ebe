package policies

import (
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// routingPolicies returns the routers of package routing, the default first.
func routingPolicies() []Policy[sim.Router] {
	return []Policy[sim.Router]{
		roundRobin(), random(), leastRequests(), leastTokens(), choices(),
		nearestRegion(), sessionAffinity(),
		adapterAffinity(),
		prefixAware(), kvAware(), gatewayAPI(), llmd(), dynamo(), sloAware(), splitwise(),
	}
}

func roundRobin() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "round-robin",
		Doc:  "replicas in turn",
		New:  func(Deployment, Values) (sim.Router, error) { return &routing.RoundRobin{}, nil },
	}
}

func random() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "random",
		Doc:  "any replica, evenly",
		New: func(d Deployment, _ Values) (sim.Router, error) {
			return routing.NewRandom(d.Seed),
				nil
		},
	}
}

func leastRequests() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "least-requests",
		Doc:  "the replica with the fewest unfinished requests (join the shortest queue)",
		New:  func(Deployment, Values) (sim.Router, error) { return routing.LeastRequests{}, nil },
	}
}

func leastTokens() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "least-tokens",
		Doc:  "the replica with the fewest prompt tokens of unfinished requests",
		New:  func(Deployment, Values) (sim.Router, error) { return routing.LeastTokens{}, nil },
	}
}

func nearestRegion() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "nearest",
		Doc: "the region nearest to the user, and there the better of two replicas drawn at " +
			"random; the next region where that is busy",
		Params: []Param{{Name: "spill", Default: "64",
			Doc: "unfinished requests with which a replica counts as busy"}},
		New: func(d Deployment, v Values) (sim.Router, error) {
			return routing.NewNearest(v.Count("spill"), d.Seed)
		},
	}
}

func choices() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "choices",
		Doc:  "the better of a few replicas drawn at random",
		Source: "Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, IEEE TPDS " +
			"12(10), 2001",
		Params: []Param{{Name: "choices", Doc: "replicas drawn", Default: "2"}},
		New: func(d Deployment, v Values) (sim.Router, error) {
			return routing.NewChoices(v.Count("choices"), d.Seed)
		},
	}
}

func sessionAffinity() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "session-affinity",
		Doc: "all requests of a conversation to the same replica, others to the one with " +
			"the fewest",
		Source: "Lamping and Veach, jump consistent hash, arXiv:1406.2294",
		New: func(Deployment, Values) (sim.Router, error) {
			return routing.SessionAffinity{},
				nil
		},
	}
}

func adapterAffinity() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "adapter-affinity",
		Doc: "all requests for an adapter to the same replica, others to the one with the " +
			"fewest",
		Source: "Lamping and Veach, jump consistent hash, arXiv:1406.2294",
		New: func(Deployment, Values) (sim.Router, error) {
			return routing.AdapterAffinity{}, nil
		},
	}
}

func prefixAware() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "prefix-aware",
		Doc: "the replica that last served the longest beginning of the prompt, unless it has " +
			"too much to do",
		Source: "SGLang's cache-aware router: sgl-router/src/policies/cache_aware.rs, v0.4",
		Params: []Param{
			{Name: "beginnings", Doc: "beginnings that are remembered", Default: "1000000"},
			{Name: "share", Doc: "share of the prompt that must be known for a replica to be " +
				"preferred", Default: "0.5", Kind: Number},
			{Name: "slack", Doc: "unfinished requests that a replica may have more than the one " +
				"with the fewest", Default: "32"},
		},
		New: func(_ Deployment, v Values) (sim.Router, error) {
			return routing.NewPrefixAware(v.Count("beginnings"), v.Number("share"),
				v.Count("slack"))
		},
	}
}

func kvAware() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name:   "kv-aware",
		Doc:    "the replica with the lowest share of KV memory in use, as last reported",
		Source: "Mitzenmacher, How Useful Is Old Information?, IEEE TPDS 11(1), 2000",
		Params: []Param{
			{Name: "period", Doc: "time between reports; 0s for always fresh", Default: "100ms",
				Kind: Duration},
			{Name: "choices", Doc: "replicas drawn at random to choose from; 0 for all",
				Default: "2"},
		},
		New: func(d Deployment, v Values) (sim.Router, error) {
			return routing.NewKVAware(v.Duration("period"), v.Count("choices"), d.Seed)
		},
	}
}

func promise() []Param {
	return []Param{{Name: "ttft",
		Doc: "the time to first token to keep; 0s for the SLO of each request", Default: "0s",
		Kind: Duration}}
}

func sloAware() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "slo-aware",
		Doc: "the replica with the fewest unfinished requests if it is predicted to keep a " +
			"time to first token, else the soonest",
		Source: "compare Qin et al., Mooncake, FAST 2025, algorithm 1",
		Params: promise(),
		New: func(_ Deployment, v Values) (sim.Router, error) {
			return routing.NewSLOAware(v.Duration("ttft"))
		},
	}
}

func splitwise() Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: "splitwise",
		Doc: "the shortest queue of the phase's pool, of the mixed pool, or of the other " +
			"phase's, in this order",
		Source: "Patel et al., Splitwise, ISCA 2024, section 4.2",
		Params: []Param{{Name: "limit",
			Doc: "prompt tokens not computed (of unfinished requests, for hand-overs) that a " +
				"replica may have before the next pool is tried", Default: "8192"}},
		New: func(_ Deployment, v Values) (sim.Router, error) {
			return routing.NewSplitwise(int64(v.Count("limit")))
		},
	}
}

// admissionPolicies returns what turns requests away, the default first.
func admissionPolicies() []Policy[sim.Admission] {
	return []Policy[sim.Admission]{
		{
			Name: "all",
			Doc:  "everybody is let in",
			New:  func(Deployment, Values) (sim.Admission, error) { return nil, nil },
		},
		{
			Name: "queue-limit",
			Doc:  "refuses while too many requests are unfinished",
			Params: []Param{{Name: "per-replica",
				Doc: "unfinished requests for each replica that takes some", Default: "256"}},
			New: func(_ Deployment, v Values) (sim.Admission, error) {
				return routing.NewQueueLimit(v.Count("per-replica"))
			},
		},
		{
			Name: "rate-limit",
			Doc:  "a token bucket for each tenant",
			Source: "Turner, New Directions in Communications, IEEE Communications Magazine " +
				"24(10), 1986",
			Params: []Param{
				{Name: "rate", Doc: "requests a second", Default: "10", Kind: Number},
				{Name: "burst", Doc: "requests at once", Default: "20", Kind: Number},
			},
			New: func(_ Deployment, v Values) (sim.Admission, error) {
				return routing.NewRateLimit(v.Number("rate"), v.Number("burst"))
			},
		},
		{
			Name: "slo-aware",
			Doc: "refuses requests that are predicted to miss a time to first token wherever " +
				"they go",
			Source: "early rejection: Qin et al., Mooncake, FAST 2025, section 7",
			Params: promise(),
			New: func(_ Deployment, v Values) (sim.Admission, error) {
				return routing.NewSLOAware(v.Duration("ttft"))
			},
		},
	}
}
