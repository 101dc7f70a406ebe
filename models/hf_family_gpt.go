package models

// readLearnedPositions reads the table of positions, one row for each position of the context.
func readLearnedPositions(_ *config, s *shape) {
	s.LearnedPositions = s.MaxContext
}

// readPhi gives all projections biases, although Phi-1 says attention_bias: false.
func readPhi(_ *config, s *shape) {
	s.attention.QKVBias, s.attention.OutBias = true, true
}

// readOPT reads the table of positions, whose first two rows are unused, and the traits of
// OPT-350M: norms after each part and so none at the end, and an embedding narrower than the
// layers.
func readOPT(c *config, s *shape) {
	s.LearnedPositions = s.MaxContext + 2
	s.NoFinalNorm = !c.flag(true, "do_layer_norm_before") ||
		c.flag(false, "_remove_final_layer_norm")
	if width := c.count(s.Hidden, "word_embed_proj_dim"); width != s.Hidden {
		s.EmbeddingDim = width
	}
}

// readMPT reads the KV heads from their section, the expansion of the MLP, and the biases. Norms
// have none, whatever it says.
func readMPT(c *config, s *shape) {
	attention := c.section("attn_config")
	if attention.text("attn_type") == "multiquery_attention" {
		s.attention.KVHeads = 1
	}
	s.attention.KVHeads = attention.count(s.attention.KVHeads, "kv_n_heads")
	s.intermediate = s.Hidden * c.count(4, "expansion_ratio")
	s.attention.QKVBias = !c.flag(true, "no_bias")
	s.attention.OutBias, s.mlpBias = s.attention.QKVBias, s.attention.QKVBias
}

// readFalcon reads the KV heads, whose number counts in the new decoder architecture only, and the
// norms: one where attention and MLP read the same input, else two.
func readFalcon(c *config, s *shape) {
	newDecoder := c.flag(false, "new_decoder_architecture")
	s.parallel = newDecoder || c.flag(true, "parallel_attn")
	switch {
	case newDecoder:
		s.attention.KVHeads = c.count(s.attention.Heads, "num_kv_heads", "n_head_kv")
		s.norms = c.count(2, "num_ln_in_parallel_attn")
	case c.flag(true, "multi_query"):
		s.attention.KVHeads = 1
	default:
		s.attention.KVHeads = s.attention.Heads
	}
	if s.parallel && !newDecoder {
		s.norms = 1
	}
}
