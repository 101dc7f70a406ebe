package models

import "slices"

// readHeads reads the heads: where KV heads are not given, multi_query means one, and else there are as many as query heads.
func (c *config) readHeads(s *shape) {
	s.attention.Heads = c.need("num_attention_heads", "n_head", "n_heads", "num_heads")
	kv := s.attention.Heads
	if c.flag(false, "multi_query", "multi_query_attention") {
		kv = 1
	}
	s.attention.KVHeads = c.count(kv, "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "num_query_groups")
	s.attention.HeadDim = c.count(0, "head_dim", "kv_channels")
	if s.attention.Heads == 0 || s.attention.KVHeads == 0 {
		c.fail("heads: found %d query and %d KV heads, want at least 1", s.attention.Heads, s.attention.KVHeads)
		return
	}
	if s.attention.HeadDim == 0 {
		if s.Hidden%s.attention.Heads != 0 {
			c.fail("hidden size %d is not a multiple of the %d heads, and head_dim is missing", s.Hidden, s.attention.Heads)
		}
		s.attention.HeadDim = s.Hidden / s.attention.Heads
	}
}

// readMLA reads multi-head latent attention, of which kv_lora_rank is the mark.
func (c *config) readMLA(s *shape) {
	rank := c.count(0, "kv_lora_rank")
	if rank == 0 {
		return
	}
	s.mla = &MLA{
		Heads:     s.attention.Heads,
		QueryRank: c.count(0, "q_lora_rank"),
		KVRank:    rank,
		RopeDim:   c.need("qk_rope_head_dim"),
		NopeDim:   c.need("qk_nope_head_dim"),
		ValueDim:  c.need("v_head_dim"),
	}
}

// readWindow reads the sliding window and which layers have it.
func (c *config) readWindow(s *shape) {
	window := c.count(0, "sliding_window", "attention_chunk_size", "sliding_window_size")
	windowed := c.windowedLayers(s.layers)
	if window == 0 || !slices.Contains(windowed, true) || !c.flag(true, "use_sliding_window") {
		return
	}
	s.window, s.windowed = window, windowed
}

// windowedLayers tells which of the layers have the sliding window: those that layer_types names, or all but one in so many,
// or all after the first few, or all.
func (c *config) windowedLayers(layers int) []bool {
	windowed := make([]bool, min(layers, maxLayers))
	if kinds := c.list("layer_types"); kinds != nil {
		if n := countOf(kinds, "sliding_attention") + countOf(kinds, "chunked_attention") + countOf(kinds, "full_attention"); len(kinds) != layers || n != layers {
			c.fail("layer_types: want full_attention, sliding_attention or chunked_attention for each of %d layers", layers)
			return nil
		}
		for i := range windowed {
			windowed[i] = kinds[i] != "full_attention"
		}
		return windowed
	}
	every, first := c.count(0, "sliding_window_pattern", "no_rope_layer_interval"), c.count(0, "max_window_layers")
	for i := range windowed {
		if every > 0 {
			windowed[i] = (i+1)%every != 0
		} else {
			windowed[i] = i >= first
		}
	}
	return windowed
}

// countOf returns how many elements of a list are the given word.
func countOf(list []any, word string) int {
	n := 0
	for _, v := range list {
		if s, ok := v.(string); ok && s == word {
			n++
		}
	}
	return n
}
