package models

import (
	"encoding/json"
	"slices"
)

// readMoE reads a mixture of experts, of which a number of experts is the mark.
func (c *config) readMoE(s *shape) {
	experts := c.count(0, "num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts")
	layers := c.expertLayers(s.layers)
	if experts == 0 || !slices.Contains(layers, true) {
		return
	}
	m := &MoE{
		Experts:      experts,
		Active:       c.need("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_top_k"),
		Intermediate: c.count(s.intermediate, "moe_intermediate_size"),
		Gated:        s.gated, Bias: s.mlpBias,
	}
	m.Shared = c.count(0, "n_shared_experts", "num_shared_experts")
	m.SharedIntermediate = m.Shared * m.Intermediate
	if width := c.count(0, "shared_expert_intermediate_size"); width > 0 {
		m.Shared, m.SharedIntermediate = max(m.Shared, 1), width
	}
	m.RouterBias = c.text("topk_method") == "noaux_tc" || c.flag(false, "router_bias")
	m.SharedGate = c.flag(false, "shared_expert_gate")
	if dense := c.count(0, "intermediate_size_mlp"); dense > 0 {
		s.intermediate = dense
	}
	s.moe, s.sparse = m, layers
}

// expertLayers tells which of the layers have experts: all but the first few, or one in so many, or those not listed as dense,
// or those listed.
func (c *config) expertLayers(layers int) []bool {
	sparse := make([]bool, min(layers, maxLayers))
	if list := c.list("moe_layers"); list != nil {
		for i := range distinctBelow(list, len(sparse)) {
			sparse[i] = true
		}
		return sparse
	}
	first := c.count(0, "first_k_dense_replace")
	frequency := max(1, c.count(1, "moe_layer_freq"))
	step := max(1, c.count(1, "decoder_sparse_step", "interleave_moe_layer_step"))
	dense := distinctBelow(c.list("mlp_only_layers"), layers)
	for i := range sparse {
		sparse[i] = i >= first && i%frequency == 0 && (i+1)%step == 0 && !dense[i]
	}
	return sparse
}

// distinctBelow returns the set of the whole numbers of a list that are at least 0 and below n.
func distinctBelow(list []any, n int) map[int]bool {
	set := map[int]bool{}
	for _, v := range list {
		if number, ok := v.(json.Number); ok {
			if i, err := number.Int64(); err == nil && i >= 0 && i < int64(n) {
				set[int(i)] = true
			}
		}
	}
	return set
}
