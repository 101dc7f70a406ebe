package models

import "github.com/llmsim/llmsim/hardware"

// readErnie reads the bias of the output head.
func readErnie(c *config, s *shape) {
	s.HeadBias = s.attention.QKVBias && c.flag(false, "weight_share_add_bias")
}

// readHunyuan reads the number of experts and of visited ones, which are lists by layer in some
// checkpoints.
func readHunyuan(c *config, _ *shape) {
	if n := c.count(0, "moe_layer_num_skipped"); n > 0 {
		c.values["first_k_dense_replace"] = n
	}
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

// readGemma3 undoes the stretching of rotary positions, since max_position_embeddings is the
// stretched length already. vLLM makes tables that are stretched once more, beside tables of the
// layers with windows (vllm/model_executor/layers/rotary_embedding, LinearScalingRotaryEmbedding).
func readGemma3(c *config, s *shape) {
	stretched := s.MaxContext
	s.MaxContext = c.need("max_position_embeddings")
	s.RotaryTables = product(stretched+s.MaxContext, s.attention.HeadDim)
}

// readQwen1 halves the width of the MLP, since intermediate_size counts the gate and the up
// projection together.
func readQwen1(_ *config, s *shape) {
	s.intermediate /= 2
}

// readBailing reads inclusionAI's Ling and Ring: biases, and, where layers come in groups, linear
// attention in all but the last layer of a group (Ring-linear, arXiv:2510.19338, section 2).
func readBailing(c *config, s *shape) {
	s.attention.QKVBias = c.flag(false, "use_qkv_bias") || c.flag(false, "use_bias")
	s.attention.OutBias = c.flag(false, "use_bias")
	s.mlpBias = s.attention.OutBias
	group := c.count(0, "layer_group_size")
	if group < 2 {
		return
	}
	heads, width := s.attention.Heads, c.count(s.attention.HeadDim, "linear_head_dim")
	s.mixers = map[string]Mixer{"linear_attention": &Recurrent{
		Kind: Lightning, Heads: heads, KeyHeads: heads, KeyDim: width, ValueDim: width,
		QKNorm:    c.flag(false, "use_qk_norm"),
		StateType: hardware.FP32,
	}}
	for i := range min(s.layers, maxLayers) {
		kind := "linear_attention"
		if (i+1)%group == 0 || i >= s.layers/group*group {
			kind = "full_attention"
		}
		s.kinds = append(s.kinds, kind)
	}
}

// readLearnedPositions reads the table of positions, one row for each position of the context.
func readLearnedPositions(_ *config, s *shape) {
	s.LearnedPositions = s.MaxContext
}

// readPhi gives all projections biases, although Phi-1 says attention_bias: false.
func readPhi(_ *config, s *shape) {
	s.attention.QKVBias, s.attention.OutBias = true, true
}

// readOPT reads the table of positions, whose first two rows are unused, and the traits of
// OPT-350M: norms after each part and so no norm at the end, and an embedding narrower than the
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
// have no biases, even where no_bias is false.
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
