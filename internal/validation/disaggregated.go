package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// pool is a deployment and the number of servers that are such.
type pool struct {
	deployment
	workers int
}

// disaggregated is servers that compute prompts and servers that go on from there, behind a number
// of frontends that take them in turn: Dynamo's do so unless told otherwise (its router guide,
// --router-mode).
type disaggregated struct {
	prefill, decode pool
	frontends       int
}

// manyFrontends is how many recipes of InferenceX put behind nginx unless they say otherwise
// (srt-slurm, num_additional_frontends).
const manyFrontends = 10

// divide makes the servers the pools of a scenario. KV caches go layer by layer over the network,
// as they are computed; the decode worker answers, from the first token on.
func (a *disaggregated) divide(s *scenarios.Scenario, registry *policies.Registry) {
	for _, end := range []struct {
		*pool
		role string
	}{{&a.prefill, "prefill"}, {&a.decode, "decode"}} {
		own := end.scenario(registry)
		s.Fleet.Pools = append(s.Fleet.Pools, scenarios.Pool{Role: end.role,
			Replicas: end.workers, Parallelism: own.Parallelism, Engine: own.Engine,
			Batching: own.Batching, Memory: own.Memory})
	}
	s.Fleet.Transfer.FirstToken = "decode"
	s.Routing.Policy, s.Routing.Params = "round-robin",
		map[string]string{"frontends": fmt.Sprint(a.frontends)}
	s.Fleet.Handover = s.Routing
}
