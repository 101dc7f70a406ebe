package models

import (
	"maps"
	"sync"
)

// families returns the families by model_type. They never change.
var families = sync.OnceValue(func() map[string]family {
	all := map[string]family{}
	for _, some := range []map[string]family{gptFamilies(), plainFamilies(), qwenFamilies(),
		gemmaFamilies(), latentFamilies(), expertFamilies(), hybridFamilies()} {
		maps.Copy(all, some)
	}
	return all
})

// qwenFamilies returns Qwen's models without recurrent layers, and models that are built like them.
func qwenFamilies() map[string]family {
	qkvBias := shape{gated: true, attention: Softmax{QKVBias: true}}
	qkNorm := shape{gated: true, attention: Softmax{QKNorm: true}}
	qwen2 := family{base: qkvBias, defaults: fields{"use_sliding_window": false},
		headsFillHidden: true}
	qwen3 := family{base: qkNorm, defaults: fields{"use_sliding_window": false, "head_dim": 128},
		qkNormKeys: []string{"use_qk_norm"}}
	qwen3Experts := qwen3
	qwen3Experts.noDenseMLP = true
	return map[string]family{
		"qwen": {base: qkvBias, read: readQwen1}, "qwen2": qwen2, "qwen2_vl": qwen2,
		"qwen2_vl_text": qwen2, "qwen2_5_vl": qwen2, "qwen2_5_vl_text": qwen2,
		"qwen2_moe": {base: qkvBias, defaults: fields{"use_sliding_window": false,
			"shared_expert_gate": true}},
		"qwen3": qwen3, "qwen3_moe": qwen3Experts, "qwen3_vl_text": qwen3,
		"qwen3_vl_moe_text": qwen3Experts, "qwen3_omni_moe_text": qwen3Experts,
		"qwen2_5_omni_text": qwen2,
		"mimo":              {base: qkvBias, biasOfInputs: true},
	}
}

// gemmaFamilies returns Google's models.
func gemmaFamilies() map[string]family {
	tied := fields{"tie_word_embeddings": true, "head_dim": 256}
	gemma3 := family{
		base: shape{gated: true, attention: Softmax{QKNorm: true}, norms: 4},
		defaults: fields{"tie_word_embeddings": true, "head_dim": 256, "num_attention_heads": 8,
			"num_key_value_heads": 4,
			"vocab_size":          262208, "max_position_embeddings": 131072,
			"sliding_window":         4096,
			"sliding_window_pattern": 6},
		read: readGemma3,
	}
	return map[string]family{
		"gemma": {base: shape{gated: true}, defaults: tied},
		"gemma2": {
			base: shape{gated: true, norms: 4},
			defaults: fields{"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096,
				"sliding_window_pattern": 2},
		},
		"gemma3": gemma3, "gemma3_text": gemma3,
		"gemma4_text": {base: shape{gated: true, attention: Softmax{QKNorm: true}, norms: 4},
			defaults: tied, read: readGemma4},
	}
}

// latentFamilies returns the models with latent attention.
func latentFamilies() map[string]family {
	gated := shape{gated: true}
	v3 := family{base: gated, defaults: fields{"topk_method": "noaux_tc"}, latent: true}
	v4 := family{base: gated, defaults: fields{"topk_method": "noaux_tc"}, noDenseMLP: true,
		read: readDeepSeekV4}
	return map[string]family{
		"deepseek_v2": {base: gated, latent: true}, "deepseek_v3": v3, "deepseek_v32": v3,
		"kimi_k2": v3, "glm_moe_dsa": v3,
		"glm4_moe_lite": {base: gated, latent: true,
			defaults: fields{"topk_method": "noaux_tc", "first_k_dense_replace": 1}},
		"mistral4":      {base: gated, latent: true},
		"minicpm3":      {base: gated, latent: true, read: readMiniCPM3},
		"longcat_flash": {base: gated, latent: true, read: readLongCat},
		"deepseek_v4":   v4, "deepseek_ref": v4,
	}
}

// expertFamilies returns the mixtures of experts with softmax attention.
func expertFamilies() map[string]family {
	gated := shape{gated: true}
	qkNorm := shape{gated: true, attention: Softmax{QKNorm: true}}
	glm := family{
		base: gated, defaults: fields{"topk_method": "noaux_tc"}, biasOfInputs: true,
		qkNormKeys: []string{"use_qk_norm"},
	}
	bailing := family{base: gated, qkNormKeys: []string{"use_qk_norm"}, read: readBailing}
	return map[string]family{
		"glm4_moe": glm, "glm4v_moe_text": glm, "solar_open": glm,
		"dots1": {base: qkNorm, defaults: fields{"topk_method": "noaux_tc"}},
		"exaone_moe": {base: qkNorm, defaults: fields{"topk_method": "noaux_tc"},
			read: readExaoneMoE},
		"hy_v3": {
			base: qkNorm, defaults: fields{"topk_method": "noaux_tc", "first_k_dense_replace": 1},
			qkNormKeys: []string{"use_qk_norm", "qk_norm"},
		},
		"afmoe": {
			base: shape{gated: true, norms: 4,
				attention: Softmax{QKNorm: true, OutputGate: true}},
			defaults: fields{"topk_method": "noaux_tc"}, read: readAfmoe,
		},
		"bailing_moe": bailing, "bailing_moe_v2": bailing, "bailing_moe_linear": bailing,
		"bailing_moe_linear_v2": bailing, "bailing_moe_v2_5": bailing, "bailing_hybrid": bailing,
		"step3_text": {base: gated, read: readStep3},
		"dbrx":       {base: gated, noDenseMLP: true, read: readDBRX},
		"git":        {base: shape{gated: true, norms: 4}, read: readGrok},
		"mixtral":    {base: gated},
		"llama4_text": {
			base: gated,
			defaults: fields{"attention_chunk_size": 8192, "no_rope_layer_interval": 4,
				"interleave_moe_layer_step": 1,
				"num_experts_per_tok":       1, "n_shared_experts": 1},
			read: readLlama4,
		},
		"gpt_oss": {
			base: shape{gated: true, mlpBias: true, attention: Softmax{Sinks: true}},
			defaults: fields{"attention_bias": true, "router_bias": true, "sliding_window": 128,
				"sliding_window_pattern": 2},
		},
		"minimax_m2":    {base: gated, read: readMiniMaxM2},
		"minimax_m3":    {base: qkNorm, read: readMiniMaxM3},
		"mimo_v2_flash": {base: gated, read: readMiMoV2},
		"mimo_v2":       {base: gated, read: readMiMoV2},
		"step3p5":       {base: qkNorm, read: readStep}, "step3p7": {base: qkNorm, read: readStep},
		"granitemoe": {base: gated},
		"ernie4_5_moe": {base: gated, defaults: fields{"tie_word_embeddings": true,
			"router_bias": true}, read: readErnie},
		"hunyuan_v1_moe": {base: qkNorm, qkNormKeys: []string{"use_qk_norm"}, read: readHunyuan},
		"hunyuan":        {base: qkNorm, qkNormKeys: []string{"use_qk_norm"}, read: readHunyuan},
		"phimoe":         {base: gated, read: readPhiMoE},
		"olmoe":          {base: shape{gated: true, attention: Softmax{WideQKNorm: true}}},
	}
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
