package policies

import (
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// cached makes a routing policy that scores replicas by what they have of the prompt and by load.
func cached(name, doc, source, index string, s routing.Scoring,
	weights ...Param) Policy[sim.Router] {
	return Policy[sim.Router]{
		Name: name, Doc: doc, Source: source,
		Params: append(weights, []Param{
			{Name: "index", Doc: "what is known of caches: what replicas report (exact), or what " +
				"was sent to them (approximate)", Default: index, Kind: Word,
				Words: []string{"exact", "approximate"}},
			{Name: "period", Doc: "time between the reports of a replica; 0s for always fresh",
				Default: "0s", Kind: Duration},
			{Name: "loss", Doc: "share of the reported events that are lost", Default: "0",
				Kind: Number},
			{Name: "remembered", Doc: "blocks of 16 tokens that an approximate index remembers " +
				"for each replica", Default: "31250"},
		}...),
		New: func(d Deployment, v Values) (sim.Router, error) {
			s.Prefix = v.Number("prefix")
			if !s.Blocks {
				s.Usage, s.Queue = v.Number("usage"), v.Number("queue")
			}
			return routing.NewCached(s, routing.Index{Exact: v.Word("index") == "exact",
				Period: v.Duration("period"), Loss: v.Number("loss"),
				Remembered: v.Count("remembered"), Seed: d.Seed}, d.Seed)
		},
	}
}

// scorers are the weights of the scorers of gateway-api-inference-extension.
func scorers(prefix, usage, queue string) []Param {
	return []Param{
		{Name: "prefix", Doc: "weight of the share of the prompt that is cached", Default: prefix,
			Kind: Number},
		{Name: "usage", Doc: "weight of the share of KV memory that is free", Default: usage,
			Kind: Number},
		{Name: "queue", Doc: "weight of a queue that is shorter than the longest", Default: queue,
			Kind: Number},
	}
}

func gatewayAPI() Policy[sim.Router] {
	return cached("gateway-api", "the replica with the highest sum of weighted scores for the "+
		"cached part of the prompt, free KV memory and a short queue",
		"gateway-api-inference-extension v1: prefix-cache-scorer, kv-cache-utilization-scorer, "+
			"queue-scorer", "approximate", routing.Scoring{}, scorers("3", "2", "2")...)
}

func llmd() Policy[sim.Router] {
	return cached("llm-d", "gateway-api with what replicas report of their caches, scored between "+
		"the least and the most that any has",
		"llm-d: precise-prefix-cache-scorer, with the weights of llm-d-kv-cache's README",
		"exact", routing.Scoring{Spread: true}, scorers("2", "1", "1")...)
}

func dynamo() Policy[sim.Router] {
	return cached("dynamo", "the replica with the fewest blocks of prompts to compute and to keep",
		"Dynamo: lib/llm/src/kv_router/scheduler.rs, kv-overlap-score-weight", "exact",
		routing.Scoring{Blocks: true}, Param{Name: "prefix",
			Doc: "weight of blocks to compute against blocks to keep", Default: "1", Kind: Number})
}
