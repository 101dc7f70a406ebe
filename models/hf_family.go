package models

// family is what a model_type implies beyond the fields of its config.json. Where it follows a default, that is of the
// family's configuration class in Hugging Face's transformers (or of the model's own repository).
type family struct {
	// defaults is the fields that are assumed where config.json is silent.
	defaults map[string]any
	// base has the traits that no field tells.
	base shape
	// fourfoldMLP tells that the MLP is four times the hidden size unless a field says otherwise.
	fourfoldMLP bool
	// read reads what only this family has.
	read func(c *config, s *shape)
}

// familyOf returns the family of a model_type. One that is not known is taken to be like Llama.
func familyOf(modelType string) (f family, known bool) {
	if f, known = llamaFamilies()[modelType]; known {
		return f, true
	}
	if f, known = gptFamilies()[modelType]; known {
		return f, true
	}
	return family{base: shape{gated: true}}, false
}

// llamaFamilies returns the families with RMSNorm and a gated MLP.
func llamaFamilies() map[string]family {
	gated := shape{gated: true}
	qkvBias := shape{gated: true, attention: Softmax{QKVBias: true}}
	qkNorm := shape{gated: true, attention: Softmax{QKNorm: true}}
	qwen2 := family{base: qkvBias, defaults: map[string]any{"use_sliding_window": false}}
	deepseekV3 := family{base: gated, defaults: map[string]any{"topk_method": "noaux_tc"}}
	gemma3 := family{
		base: shape{gated: true, attention: Softmax{QKNorm: true}, norms: 4},
		defaults: map[string]any{"tie_word_embeddings": true, "head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4,
			"vocab_size": 262208, "max_position_embeddings": 131072, "sliding_window": 4096, "sliding_window_pattern": 6},
		read: readGemma3,
	}
	return map[string]family{
		"llama":       {base: gated},
		"mistral":     {base: gated, defaults: map[string]any{"sliding_window": 4096}},
		"ministral3":  {base: gated},
		"mixtral":     {base: gated},
		"baichuan":    {base: gated},
		"internlm":    {base: gated, read: readInternLM},
		"internlm2":   {base: gated},
		"phi3":        {base: gated},
		"qwen":        {base: qkvBias, read: readQwen1},
		"qwen2":       qwen2,
		"qwen2_vl":    qwen2,
		"qwen2_5_vl":  qwen2,
		"qwen2_moe":   {base: qkvBias, defaults: map[string]any{"use_sliding_window": false, "shared_expert_gate": true}},
		"qwen3":       {base: qkNorm, defaults: map[string]any{"use_sliding_window": false, "head_dim": 128}},
		"qwen3_moe":   {base: qkNorm, defaults: map[string]any{"use_sliding_window": false, "head_dim": 128}},
		"deepseek_v2": {base: gated},
		"deepseek_v3": deepseekV3,
		"kimi_k2":     deepseekV3,
		"gemma":       {base: gated, defaults: map[string]any{"tie_word_embeddings": true, "head_dim": 256}},
		"gemma2": {
			base:     shape{gated: true, norms: 4},
			defaults: map[string]any{"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2},
		},
		"gemma3":      gemma3,
		"gemma3_text": gemma3,
		"llama4_text": {
			base: gated,
			defaults: map[string]any{"attention_chunk_size": 8192, "no_rope_layer_interval": 4, "interleave_moe_layer_step": 1,
				"num_experts_per_tok": 1, "n_shared_experts": 1},
		},
		"gpt_oss": {
			base:     shape{gated: true, mlpBias: true, attention: Softmax{Sinks: true}},
			defaults: map[string]any{"attention_bias": true, "router_bias": true, "sliding_window": 128, "sliding_window_pattern": 2},
		},
		"chatglm": {base: gated, read: readChatGLM},
		// PaLM (arXiv:2204.02311, section 2) was never published in this form; the fields are those of the paper's table 1.
		"palm": {
			base:     shape{gated: true, parallel: true, norms: 1},
			defaults: map[string]any{"tie_word_embeddings": true, "multi_query": true},
		},
	}
}

// readGemma3 undoes the stretching of rotary positions, since max_position_embeddings is the stretched length already.
func readGemma3(c *config, s *shape) {
	s.MaxContext = c.need("max_position_embeddings")
}

// readInternLM reads the field that gives all projections of attention a bias.
func readInternLM(c *config, s *shape) {
	s.attention.QKVBias = c.flag(true, "bias")
	s.attention.OutBias = s.attention.QKVBias
}

// readQwen1 halves the width of the MLP, since intermediate_size counts the gate and the up projection together.
func readQwen1(_ *config, s *shape) {
	s.intermediate /= 2
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
