package models

// gptFamilies returns the families whose MLP has two matrices.
func gptFamilies() map[string]family {
	normBias := shape{}
	normBias.NormBias = true
	biased := shape{attention: Softmax{QKVBias: true, OutBias: true}, mlpBias: true}
	biased.NormBias = true
	tied := map[string]any{"tie_word_embeddings": true}
	tiedMultiQuery := map[string]any{"tie_word_embeddings": true, "multi_query": true}
	gptj := shape{mlpBias: true, parallel: true, norms: 1}
	gptj.NormBias, gptj.HeadBias = true, true
	neox := biased
	neox.parallel = true
	phi := biased
	phi.parallel, phi.norms, phi.HeadBias = true, 1, true
	bloom := biased
	bloom.EmbeddingNorm = true
	falconDefaults := func(newDecoder bool) map[string]any {
		return map[string]any{"tie_word_embeddings": true, "max_position_embeddings": 2048,
			"multi_query": true, "parallel_attn": true,
			"new_decoder_architecture": newDecoder}
	}
	return map[string]family{
		"gpt2": {base: biased, fourfoldMLP: true, defaults: tied,
			read: readLearnedPositions},
		"gpt_bigcode": {base: biased, fourfoldMLP: true, defaults: tiedMultiQuery,
			read: readLearnedPositions},
		"gptj":     {base: gptj, fourfoldMLP: true},
		"gpt_neox": {base: neox, read: readNeoX},
		"phi":      {base: phi, fourfoldMLP: true, read: readPhi},
		"bloom": {base: bloom, fourfoldMLP: true, defaults: map[string]any{
			"tie_word_embeddings": true, "seq_length": 2048}},
		"starcoder2": {base: biased, defaults: tied, read: readStarCoder2},
		"opt":        {base: biased, defaults: tied, read: readOPT},
		"mpt":        {fourfoldMLP: true, defaults: tied, read: readMPT},
		"falcon": {base: normBias, fourfoldMLP: true, defaults: falconDefaults(false),
			read: readFalcon},
		// Falcon's first names: RefinedWebModel is the 7B, RefinedWeb the 40B.
		"RefinedWebModel": {base: normBias, fourfoldMLP: true, defaults: falconDefaults(false),
			read: readFalcon},
		"RefinedWeb": {base: normBias, fourfoldMLP: true, defaults: falconDefaults(true),
			read: readFalcon},
		// Gopher and Chinchilla (arXiv:2112.11446, section 2.1: RMSNorm and relative positions;
		// arXiv:2203.15556, table 4) were never published in this form.
		"gopher": {base: shape{attention: Softmax{RelativePositions: true}}, fourfoldMLP: true,
			defaults: tied},
	}
}

// readLearnedPositions reads the table of positions, one row for each position of the context.
func readLearnedPositions(_ *config, s *shape) {
	s.LearnedPositions = s.MaxContext
}

// readNeoX reads whether attention and MLP run in parallel.
func readNeoX(c *config, s *shape) {
	s.parallel = c.flag(true, "use_parallel_residual")
}

// readPhi reads the norms of queries and keys. All projections have biases, although Phi-1 says
// attention_bias: false.
func readPhi(c *config, s *shape) {
	s.attention.QKNorm = c.flag(false, "qk_layernorm")
	s.attention.QKVBias, s.attention.OutBias = true, true
}

// readStarCoder2 reads whether projections have biases.
func readStarCoder2(c *config, s *shape) {
	s.attention.QKVBias = c.flag(true, "use_bias")
	s.attention.OutBias, s.mlpBias = s.attention.QKVBias, s.attention.QKVBias
}

// readOPT reads the table of positions, whose first two rows are unused, and the traits of
// OPT-350M: norms after each part and so none at the end, and an embedding narrower than the
// layers.
func readOPT(c *config, s *shape) {
	s.LearnedPositions = s.MaxContext + 2
	s.NoFinalNorm = !c.flag(true, "do_layer_norm_before") ||
		c.flag(false, "_remove_final_layer_norm")
	s.attention.QKVBias = c.flag(true, "enable_bias")
	s.attention.OutBias, s.mlpBias = s.attention.QKVBias, s.attention.QKVBias
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
	c.use("parallel_attn", "multi_query", "num_kv_heads", "n_head_kv", "num_ln_in_parallel_attn",
		"ff_factor")
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
	s.attention.QKVBias = c.flag(false, "bias")
	s.attention.OutBias, s.mlpBias = s.attention.QKVBias, s.attention.QKVBias
}
