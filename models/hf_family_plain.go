package models

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
// stretched length already.
func readGemma3(c *config, s *shape) {
	s.MaxContext = c.need("max_position_embeddings")
}

// readQwen1 halves the width of the MLP, since intermediate_size counts the gate and the up
// projection together.
func readQwen1(_ *config, s *shape) {
	s.intermediate /= 2
}
