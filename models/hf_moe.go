package models

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// readMoE reads a mixture of experts, which a number of experts marks.
func (s *shape) readMoE(c *config) {
	experts := c.count(0, "num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts",
		"moe_n_experts")
	layers := c.expertLayers(s.layers)
	c.markRead("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk",
		"moe_top_k", "moe_k", "top_k_experts")
	if experts == 0 || !slices.Contains(layers, true) {
		return
	}
	m := &MoE{
		Experts: experts,
		Active: c.need("num_experts_per_tok", "num_experts_per_token", "experts_per_token",
			"moe_topk", "moe_top_k", "moe_k", "top_k_experts"),
		Intermediate: c.expertWidth(s.intermediate),
		Gated:        s.gated, Bias: s.mlpBias,
		Latent: c.count(0, "moe_latent_size", "routed_expert_hidden_size"),
	}
	c.markRead("latent_moe_use_norm")
	m.Shared = c.count(0, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts",
		"num_shared_expert")
	m.SharedIntermediate = m.Shared * m.Intermediate
	if width := c.count(0, "shared_expert_intermediate_size", "share_expert_dim",
		"shared_intermediate_size", "moe_shared_expert_intermediate_size"); width > 0 {
		m.Shared = max(m.Shared, 1)
		m.SharedIntermediate = width
	}
	m.RouterBias = c.text("topk_method") == "noaux_tc" || c.flag(false, "router_bias") ||
		c.flag(false, "use_routing_bias") ||
		c.flag(false, "use_moe_router_bias") || c.flag(false, "moe_router_enable_expert_bias")
	m.SharedGate = c.flag(false, "shared_expert_gate")
	if dense := c.count(0, "intermediate_size_mlp", "dense_intermediate_size"); dense > 0 {
		s.intermediate = dense
	}
	s.moe, s.sparse = m, layers
}

// expertWidth returns the width of a routed expert; lists must have one width for all layers.
func (c *config) expertWidth(otherwise int) int {
	const key = "moe_intermediate_size"
	if _, value, _ := c.find(key); value != nil {
		if _, isList := value.([]any); isList {
			widths := c.counts(key)
			if slices.Max(append(widths, 0)) != slices.Min(append(widths, 1<<30)) {
				c.fail("%s: widths that differ between layers are not modelled", key)
			}
			return slices.Max(append(widths, 0))
		}
	}
	return c.count(otherwise, key)
}

// expertLayers says which of the layers have experts: all but the first few, one in a fixed number,
// all that are not listed as dense, or all that are listed.
func (c *config) expertLayers(layers int) []bool {
	sparse := make([]bool, min(layers, maxLayers))
	if list := c.list("moe_layers"); list != nil {
		for i := range distinctBelow(list, len(sparse)) {
			sparse[i] = true
		}
		return sparse
	}
	if text := c.text("moe_layers_enum"); text != "" {
		return c.enumerated("moe_layers_enum", text, len(sparse))
	}
	if words := c.words("mlp_layer_types"); words != nil {
		c.markRead("first_k_dense_replace", "moe_layer_freq")
		return c.listed("mlp_layer_types", layers, len(words),
			func(i int) bool { return words[i] == "sparse" })
	}
	if _, value, found := c.find("moe_layer_freq"); found {
		if _, isList := value.([]any); isList {
			c.markRead("first_k_dense_replace")
			ns := c.counts("moe_layer_freq")
			return c.listed("moe_layer_freq", layers, len(ns),
				func(i int) bool { return ns[i] == 1 })
		}
	}
	first := c.firstCount(0, "first_k_dense_replace", "moe_layer_start_index")
	frequency := max(1, c.count(1, "moe_layer_freq"))
	step := max(1, c.count(1, "decoder_sparse_step", "interleave_moe_layer_step",
		"moe_layer_interval"))
	last := c.count(layers, "moe_layer_end_index")
	dense := distinctBelow(c.list("mlp_only_layers"), layers)
	for i := range sparse {
		sparse[i] = i >= first && i <= last && i%frequency == 0 && (i+1)%step == 0 && !dense[i]
	}
	return sparse
}

// enumerated returns which layers a text of numbers with commas names.
func (c *config) enumerated(name, text string, layers int) []bool {
	named := make([]bool, layers)
	for _, word := range strings.Split(text, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || i < 0 || i >= layers {
			c.fail("%s: found %.40q, want numbers from 0 to %d", name, word, layers-1)
			return nil
		}
		named[i] = true
	}
	return named
}

// listed returns what a list says of each layer, which must have an entry for each layer.
func (c *config) listed(name string, layers, entries int, has func(i int) bool) []bool {
	if entries != layers {
		c.fail("%s: found %d entries for %d layers", name, entries, layers)
		return nil
	}
	list := make([]bool, min(layers, maxLayers))
	for i := range list {
		list[i] = has(i)
	}
	return list
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
