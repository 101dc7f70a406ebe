package validation

import (
	"context"
	"errors"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// pool is a deployment and the number of servers that are such.
type pool struct {
	deployment
	workers int
}

// disaggregated is servers that compute prompts and servers that go on from there, behind a number
// of frontends.
type disaggregated struct {
	prefill, decode pool
	frontends       int
}

// serve simulates them under the given load. KV caches go layer by layer over the network, as they
// are computed; the decode worker answers, from the first token on.
func (a *disaggregated) serve(ctx context.Context, p *accuracy.Physics, load sim.Source) (*outcome,
	error) {
	if a.prefill.network == nil {
		return nil, errors.New(a.prefill.accelerator.Name +
			" has no network over which prefill and decode servers could exchange caches")
	}
	var replicas []sim.ReplicaConfig
	for _, end := range []struct {
		*pool
		role sim.Role
	}{{&a.prefill, sim.Prefill}, {&a.decode, sim.Decode}} {
		made, err := end.made()
		if err != nil {
			return nil, err
		}
		server, err := made.fitting(p)
		if err != nil {
			return nil, err
		}
		for range end.workers {
			r, err := server.Replica(0)
			if err != nil {
				return nil, err
			}
			r.Role = end.role
			r.PromptLatency = 0 // frontends of Dynamo tokenise, in Rust, and workers get tokens
			r.Latency += server.Clock.Handover()
			r.FirstChunk = server.Engine.FirstChunk
			if end.role == sim.Prefill {
				r.KVBytes.Token, r.Layers, r.Relays = end.model.KVBytesPerToken(end.kv),
					end.model.Layers(), true
			}
			replicas = append(replicas, r)
		}
	}
	seen := newOutcome()
	ports := min(a.prefill.Parallelism.Accelerators(), a.decode.Parallelism.Accelerators())
	_, err := sim.Run(ctx, sim.Config{
		Source: load, Router: newFrontends(a.frontends, 1), Handover: newFrontends(a.frontends, 2),
		Replicas: replicas, Observer: seen,
		Links: []sim.Link{{Bandwidth: a.prefill.network.Bandwidth * float64(ports),
			Latency: sim.Seconds(a.prefill.network.Latency)}},
	})
	if err == nil && seen.rejected > 0 {
		err = errors.New("requests are longer than the KV cache")
	}
	return seen, err
}
