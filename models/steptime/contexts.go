package steptime

import "github.com/llmsim/llmsim/sim"

// divided returns the time in which the accelerators that divide contexts exchange what tokens
// need: in each layer, the queries of all their heads are gathered, each attends to its own part of
// the contexts, and the results are summed by the logarithms of their sums of exponentials, which
// are gathered too (vllm/v1/attention/ops/common.py, cp_lse_ag_out_rs). An all-gather and a
// reduce-scatter send half of what an all-reduce does. Scores take two operations for each element
// of a query, and results two for each of a value.
func (c *attentionCosts) divided(tokens int) (t sim.Time) {
	ranks := c.cfg.Parallel.Context
	if ranks == 1 || tokens == 0 || c.engine.Roofline {
		return 0
	}
	for i := range c.kinds {
		a := &c.kinds[i]
		heads := float64(tokens * ranks * a.Heads)
		vectors := float64(tokens*ranks) * a.DecodeFLOPs / 2 * c.activationBytes
		t += times(a.count, or1(c.cfg.Factors.Exchanges)*(c.exchanges.allReduce(vectors/2, ranks)+
			c.exchanges.allReduce(heads*sumBytes, ranks)/2))
	}
	return t
}

// sumBytes is the size of the logarithm of a sum of exponentials, in 32 bits.
const sumBytes = 4

// dividedPrompts returns what divided contexts take where prompts are computed. Keys and values of
// heads stay, and the queries of all new tokens are exchanged as for decoding
// (vllm/v1/attention/backends/flash_attn.py, _forward_with_dcp); latent vectors of cached tokens
// are gathered (vllm/model_executor/layers/attention/mla_attention.py,
// _context_parallel_compute_prefill_context).
func (c *attentionCosts) dividedPrompts(prefill []sim.Chunk) (t sim.Time) {
	ranks := c.cfg.Parallel.Context
	if ranks == 1 || c.engine.Roofline {
		return 0
	}
	tokens, cached := 0, 0
	for i := range prefill {
		tokens, cached = tokens+prefill[i].Rows(), cached+prefill[i].Cached
	}
	if c.latentLayers == 0 {
		return c.divided(c.perRank(tokens))
	}
	for i := range c.kinds {
		a := &c.kinds[i]
		bytes := float64(c.perRank(cached)*ranks) * a.KVBytes
		t += times(a.count, or1(c.cfg.Factors.Exchanges)*c.exchanges.allReduce(bytes, ranks)/2)
	}
	return t
}
