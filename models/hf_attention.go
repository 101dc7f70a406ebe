package models

// readHeads reads the heads: where KV heads are not given, multi_query means one, and else there are as many as query heads.
func (c *config) readHeads(a *Architecture) {
	a.Heads = c.need("num_attention_heads", "n_head", "n_heads", "num_heads")
	kv := a.Heads
	if c.flag(false, "multi_query", "multi_query_attention") {
		kv = 1
	}
	a.KVHeads = c.count(kv, "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "num_query_groups")
	a.HeadDim = c.count(0, "head_dim", "kv_channels")
	if a.Heads == 0 || a.KVHeads == 0 {
		c.fail("heads: found %d query and %d KV heads, want at least 1", a.Heads, a.KVHeads)
		return
	}
	if a.HeadDim == 0 {
		if a.Hidden%a.Heads != 0 {
			c.fail("hidden size %d is not a multiple of the %d heads, and head_dim is missing", a.Hidden, a.Heads)
		}
		a.HeadDim = a.Hidden / a.Heads
	}
}

// readMLA reads multi-head latent attention, of which kv_lora_rank is the mark.
func (c *config) readMLA(a *Architecture) {
	rank := c.count(0, "kv_lora_rank")
	if rank == 0 {
		return
	}
	a.MLA = &MLA{
		QueryRank: c.count(0, "q_lora_rank"),
		KVRank:    rank,
		RopeDim:   c.need("qk_rope_head_dim"),
		NopeDim:   c.need("qk_nope_head_dim"),
		ValueDim:  c.need("v_head_dim"),
	}
	a.KVHeads, a.HeadDim = a.Heads, a.MLA.NopeDim+a.MLA.RopeDim
}

// readWindow reads the sliding window and which layers have it.
func (c *config) readWindow(a *Architecture) {
	window := c.count(0, "sliding_window", "attention_chunk_size", "sliding_window_size")
	windowed := c.windowedLayers(a.Layers)
	if window == 0 || windowed == 0 || !c.flag(true, "use_sliding_window") {
		return
	}
	a.Window = window
	if windowed < a.Layers {
		a.WindowLayers = windowed
	}
}

// windowedLayers returns how many of the layers have the sliding window: those that layer_types names, or all but one in so
// many, or all after the first few, or all.
func (c *config) windowedLayers(layers int) int {
	if kinds := c.list("layer_types"); kinds != nil {
		windowed := countOf(kinds, "sliding_attention") + countOf(kinds, "chunked_attention")
		if len(kinds) != layers || windowed+countOf(kinds, "full_attention") != len(kinds) {
			c.fail("layer_types: want full_attention, sliding_attention or chunked_attention for each of %d layers", layers)
		}
		return windowed
	}
	if every := c.count(0, "sliding_window_pattern", "no_rope_layer_interval"); every > 0 {
		return layers - layers/every
	}
	return max(0, layers-c.count(0, "max_window_layers"))
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
