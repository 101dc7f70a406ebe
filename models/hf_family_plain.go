package models

// plainFamilies returns the families that differ from Llama in biases, norms and windows only.
func plainFamilies() map[string]family {
	gated := shape{gated: true}
	qkvBias := shape{gated: true, attention: Softmax{QKVBias: true}}
	wideNorm := shape{gated: true, attention: Softmax{WideQKNorm: true}}
	parallel := shape{gated: true, parallel: true, norms: 1}
	// squared ReLU, and norms with biases (Nemotron-4, arXiv:2402.16819, section 2)
	nemotron := shape{}
	nemotron.NormBias = true
	plain := family{base: gated}
	return map[string]family{
		"llama": plain, "mistral": {base: gated, defaults: fields{"sliding_window": 4096}},
		"ministral": plain, "ministral3": plain,
		"baichuan":  {base: gated, headsFillHidden: true},
		"internlm":  {base: gated, headsFillHidden: true, read: readInternLM},
		"internlm2": {base: gated, headsFillHidden: true},
		"internlm3": {base: gated, read: readInternLM3},
		"phi3":      {base: gated, headsFillHidden: true, read: readPhi3},
		"chatglm":   {base: gated, read: readChatGLM}, "glm": {base: qkvBias, biasOfInputs: true},
		"glm4": {base: shape{gated: true, norms: 4, attention: Softmax{QKVBias: true}},
			biasOfInputs: true},
		"yi": plain, "granite": plain, "seed_oss": {base: qkvBias, biasOfInputs: true,
			read: readSeed}, "smollm3": {base: gated, read: readSmolLM},
		"olmo":  {base: shape{gated: true}, headsFillHidden: true, read: readOLMo},
		"olmo2": {base: wideNorm}, "olmo3": {base: wideNorm},
		"exaone4": {base: shape{gated: true, attention: Softmax{QKNorm: true}}},
		"cohere": {
			base: parallel, read: readCohere, defaults: fields{"tie_word_embeddings": true},
			qkNormKeys: []string{"use_qk_norm"},
		},
		"cohere2": {base: parallel, read: readCohere, defaults: fields{
			"tie_word_embeddings": true, "sliding_window": 4096, "sliding_window_pattern": 4,
		}},
		"ernie4_5": {base: gated, defaults: fields{"tie_word_embeddings": true}, read: readErnie},
		"stablelm": {base: gated, headsFillHidden: true, read: readStableLM},
		"hunyuan_v1_dense": {
			base:       shape{gated: true, attention: Softmax{QKNorm: true}},
			qkNormKeys: []string{"use_qk_norm"},
			read:       readHunyuan,
		},
		"glm4v_text": {base: shape{gated: true, norms: 4, attention: Softmax{QKVBias: true}},
			biasOfInputs: true},
		// Two matrices and no gate: Arcee with squared ReLU, Apertus with xIELU (arXiv:2509.14233,
		// section 2.1).
		"arcee": {}, "apertus": {base: shape{attention: Softmax{QKNorm: true}},
			qkNormKeys: []string{"qk_norm"}},
		"nemotron": {base: nemotron},
		// PaLM (arXiv:2204.02311, section 2) was never published in this form; the fields are those
		// of the paper's table 1.
		"palm": {base: parallel, defaults: fields{"tie_word_embeddings": true,
			"multi_query": true}},
	}
}

// readInternLM reads the field that gives all projections of attention a bias.
func readInternLM(c *config, s *shape) {
	s.attention.QKVBias = c.flag(true, "bias")
	s.attention.OutBias = s.attention.QKVBias
}

// readInternLM3 reads which projections have biases.
func readInternLM3(c *config, s *shape) {
	s.attention.QKVBias = c.flag(false, "qkv_bias")
	s.attention.OutBias = c.flag(false, "bias")
	s.mlpBias = s.attention.OutBias
}

// readSeed reads the bias of the output.
func readSeed(c *config, s *shape) { s.attention.OutBias = c.flag(false, "attention_out_bias") }

// readSmolLM notes which layers do not rotate, which changes next to nothing.
func readSmolLM(c *config, _ *shape) { c.use("no_rope_layers", "no_rope_layer_interval") }

// readOLMo undoes the norms, which have no weights.
func readOLMo(_ *config, s *shape) { s.NoFinalNorm = true; s.norms = -1 }

// readErnie reads the one flag of all biases, and what the mixture of experts calls its parts.
func readErnie(c *config, s *shape) {
	s.attention.QKVBias = c.flag(false, "use_bias")
	s.attention.OutBias, s.mlpBias = s.attention.QKVBias, s.attention.QKVBias
	s.HeadBias = s.attention.QKVBias && c.flag(false, "weight_share_add_bias")
	c.use("moe_use_aux_free", "moe_layer_end_index", "compression_ratio", "multi_token_pred_lambda",
		"moe_gate",
		"weight_share_add_bias", "fuse_rms_norm", "moe_group", "moe_group_experts",
		"moe_multimodal_dispatch_use_allgather")
}

// readStableLM reads the biases of the projections and the kind of norms.
func readStableLM(c *config, s *shape) {
	s.attention.QKVBias, s.NormBias = c.flag(false, "use_qkv_bias"), true
	s.attention.QKNorm = c.flag(false, "qk_layernorm")
	s.parallel = c.flag(false, "use_parallel_residual")
}

// readCohere refuses blocks whose attention and MLP follow each other, which no published model
// has, and notes keys that say the same as others.
func readCohere(c *config, _ *shape) {
	if !c.flag(true, "use_parallel_block") {
		c.fail("use_parallel_block: found false, but only true is modelled")
	}
	if !c.flag(true, "use_gated_activation") {
		c.fail("use_gated_activation: found false, but only true is modelled")
	}
	c.use("cache_implementation", "layer_switch", "order_of_interleaved_layers",
		"use_embedding_sharing", "use_parallel_embedding",
		"use_qk_norm")
}

// readPhi3 reads the bias of the output head, and notes that all layers have full attention:
// full_attn_mod is 1.
func readPhi3(c *config, s *shape) {
	if mod := c.count(1, "full_attn_mod"); mod != 1 {
		c.fail("full_attn_mod: found %d, but only 1 is modelled", mod)
	}
	s.HeadBias = c.flag(false, "lm_head_bias")
}

// readHunyuan reads the number of experts and of visited ones, which are lists by layer in some
// checkpoints.
func readHunyuan(c *config, _ *shape) {
	if c.flag(false, "use_cla") {
		c.fail("use_cla: found true, but layers that share a cache with others are not modelled")
	}
	if n := c.count(0, "moe_layer_num_skipped"); n > 0 {
		c.values["first_k_dense_replace"] = n
	}
	c.use("use_mixed_mlp_moe", "cla_share_factor", "class_num", "dense_list", "num_media_embeds",
		"org_vocab_size", "pool_type",
		"vit_input_resolution", "vit_mapping_type", "vit_norm_type", "vit_patch", "vit_token",
		"mask_init_id", "position_embedding_xdrope")
	for _, key := range []string{"moe_topk", "num_shared_expert"} {
		if _, value, _ := c.find(key); value != nil {
			if list, isList := value.([]any); isList && len(list) > 0 {
				c.values[key] = list[0]
			}
		}
	}
}

// readChatGLM reads the groups of KV heads, which count only where a flag says so, and the biases.
func readChatGLM(c *config, s *shape) {
	if !c.flag(false, "multi_query_attention") {
		s.attention.KVHeads = s.attention.Heads
	}
	s.attention.OutBias = c.flag(false, "add_bias_linear")
	s.mlpBias = s.attention.OutBias
	s.attention.QKVBias = s.attention.OutBias || c.flag(false, "add_qkv_bias")
}
