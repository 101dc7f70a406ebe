package models

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
)

// Models of 2024 to 2026 that the catalogue lacks have the parameters that their publishers state,
// within 0.5 % or the last digit.
func TestMoreModels(t *testing.T) {
	glmAir := `"num_hidden_layers": 46, "hidden_size": 4096, "intermediate_size": 10944, "num_attention_heads": 96,
		"num_key_value_heads": 8, "head_dim": 128, "attention_bias": true, "n_routed_experts": 128, "n_shared_experts": 1,
		"num_experts_per_tok": 8, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "vocab_size": 151552,
		"max_position_embeddings": 131072`
	ling := `"num_hidden_layers": 80, "hidden_size": 8192, "intermediate_size": 18432, "first_k_dense_replace": 4,
		"moe_intermediate_size": 2048, "num_experts_per_tok": 8, "num_attention_heads": 64, "num_experts": 256,
		"num_key_value_heads": 8, "head_dim": 128, "num_shared_experts": 1, "vocab_size": 157184, "use_qk_norm": true,
		"moe_router_enable_expert_bias": true, "max_position_embeddings": 32768, "norm_head": false, "score_function": "sigmoid"`
	for _, c := range []struct {
		name   string
		total  float64 // billions, as published
		within float64 // the last digit that is published
		config string
	}{
		{"zai-org/GLM-4.5-Air: arXiv:2508.06471, table 1", 106, 1, `"model_type": "glm4_moe", ` +
			glmAir},
		{"zai-org/GLM-4.7-Flash, latent: 30B-A3B", 30, 0.5,
			`"model_type": "glm4_moe_lite", "num_hidden_layers": 47, "hidden_size": 2048,
			"intermediate_size": 10240, "num_attention_heads": 20, "num_key_value_heads": 20, "n_routed_experts": 64, "n_shared_experts": 1,
			"num_experts_per_tok": 4, "moe_intermediate_size": 1536, "vocab_size": 154880, "max_position_embeddings": 202752,
			"q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256`},
		{"inclusionAI/Ling-1T", 1000, 5, `"model_type": "bailing_moe", ` + ling},
		{"rednote-hilab/dots.llm1: arXiv:2506.05767, 142B", 142, 1,
			`"model_type": "dots1", "num_hidden_layers": 62, "hidden_size": 4096,
			"intermediate_size": 10944, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "n_routed_experts": 128,
			"n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "vocab_size": 152064,
			"max_position_embeddings": 32768`},
		{"tencent/Hy3-preview, defaults of transformers' HYV3Config: 295B", 295, 1,
			`"model_type": "hy_v3", "num_hidden_layers": 80,
			"hidden_size": 4096, "intermediate_size": 13312, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
			"num_experts": 192, "num_experts_per_tok": 8, "num_shared_experts": 1, "moe_intermediate_size": 1536, "vocab_size": 120832,
			"max_position_embeddings": 131072, "enable_moe_fp32_combine": true, "router_scaling_factor": 2.826`},
		{"mistralai/Mistral-Small-4, defaults of transformers' Mistral4Config: 119B", 119, 1,
			`"model_type": "mistral4",
			"num_hidden_layers": 36, "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 32,
			"n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 4, "moe_intermediate_size": 2048, "vocab_size": 131072,
			"q_lora_rank": 1024, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128,
			"max_position_embeddings": 1048576`},
		{"LGAI-EXAONE/K-EXAONE-236B-A23B", 236, 1,
			`"model_type": "exaone_moe", "num_hidden_layers": 48, "hidden_size": 6144,
			"intermediate_size": 18432, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "num_experts": 128,
			"num_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "vocab_size": 153600,
			"sliding_window": 128, "layer_types": [` + strings.Repeat(`"sliding_attention", "sliding_attention", "sliding_attention",
			"full_attention", `, 11) + `"sliding_attention", "sliding_attention", "sliding_attention", "full_attention"` + `], "first_k_dense_replace": 1, "max_position_embeddings": 262144`},
		{"upstage/Solar-Open-100B: 102.6B", 102.6, 0.1,
			`"model_type": "solar_open", "num_hidden_layers": 48, "hidden_size": 4096,
			"intermediate_size": 10240, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 128,
			"n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1280, "vocab_size": 196608, "max_position_embeddings": 131072`},
		{"meituan-longcat/LongCat-Flash-Chat: arXiv:2509.01322, 560B", 560, 1,
			`"model_type": "longcat_flash", "num_layers": 28,
			"hidden_size": 6144, "ffn_hidden_size": 12288, "num_attention_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512,
			"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "expert_ffn_hidden_size": 2048, "moe_topk": 12,
			"n_routed_experts": 512, "zero_expert_num": 256, "zero_expert_type": "identity", "vocab_size": 131072,
			"max_position_embeddings": 131072, "attention_method": "MLA", "mla_scale_q_lora": true`},
		{"stepfun-ai/step3, its language model: arXiv:2507.19427, table 1, 316B", 316, 1,
			`"model_type": "step3_text",
			"num_hidden_layers": 61, "hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 64, "num_attention_groups": 1,
			"head_dim": 256, "share_q_dim": 2048, "moe_layers_enum": "` + enumerated(4, 59) + `", "moe_intermediate_size": 5120,
			"moe_num_experts": 48, "moe_top_k": 3, "share_expert_dim": 5120, "vocab_size": 128815, "max_seq_len": 65536`},
		{"xai-org/grok-2: 270B", 270, 1,
			`"model_type": "git", "architectures": ["Grok1ForCausalLM"], "num_hidden_layers": 64,
			"hidden_size": 8192, "intermediate_size": 32768, "moe_intermediate_size": 16384, "num_local_experts": 8, "num_experts_per_tok": 2,
			"residual_moe": true, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072,
			"sliding_window_size": -1, "global_attn_every_n": 1, "max_position_embeddings": 131072`},
		{"databricks/dbrx: 132B", 132, 1,
			`"model_type": "dbrx", "n_layers": 40, "d_model": 6144, "n_heads": 48, "vocab_size": 100352,
			"max_seq_len": 32768, "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000},
			"ffn_config": {"ffn_hidden_size": 10752, "moe_jitter_eps": 0.01, "moe_loss_weight": 0.05, "moe_num_experts": 16, "moe_top_k": 4}`},
		{"nvidia/Nemotron-4-340B: arXiv:2402.16819 and 2406.11704", 341, 1,
			`"model_type": "nemotron", "num_hidden_layers": 96,
			"hidden_size": 18432, "intermediate_size": 73728, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 192,
			"vocab_size": 256000, "max_position_embeddings": 4096`},
		{"swiss-ai/Apertus-70B: arXiv:2509.14233, 70.6B", 70.6, 0.1,
			`"model_type": "apertus", "num_hidden_layers": 80, "hidden_size": 8192,
			"intermediate_size": 43008, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 131072, "qk_norm": true,
			"max_position_embeddings": 65536`},
		{"mistralai/Mamba-Codestral-7B: 7.29B", 7.285, 0.001,
			`"model_type": "mamba2", "num_hidden_layers": 64, "hidden_size": 4096,
			"num_heads": 128, "head_dim": 64, "state_size": 128, "n_groups": 8, "conv_kernel": 4, "expand": 2, "vocab_size": 32768`},
		{"CohereLabs/c4ai-command-a: 111B", 111, 1,
			`"model_type": "cohere2", "num_hidden_layers": 64, "hidden_size": 12288,
			"intermediate_size": 36864, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000,
			"sliding_window": 4096, "layer_switch": 4, "cache_implementation": "hybrid", "order_of_interleaved_layers": "local_attn_first",
			"use_parallel_block": true, "max_position_embeddings": 131072`},
		{"microsoft/Phi-4-mini: 3.8B", 3.84, 0.01,
			`"model_type": "phi3", "num_hidden_layers": 32, "hidden_size": 3072,
			"intermediate_size": 8192, "num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 200064, "tie_word_embeddings": true,
			"full_attn_mod": 1, "interpolate_factor": 1, "sliding_window": 262144, "max_position_embeddings": 131072`},
	} {
		a, _ := read(t, "{"+c.config+`, "torch_dtype": "bfloat16"}`)
		if got := float64(a.Parameters().Total()) / 1e9; math.Abs(got-c.total) > max(c.within,
			0.005*c.total) {
			t.Errorf("%s: %.2f B parameters, published %g B: %+v", c.name, got, c.total,
				a.Parameters())
		}
	}
}

// enumerated returns the numbers of layers with commas.
func enumerated(first, last int) string {
	var words []string
	for i := first; i <= last; i++ {
		words = append(words, strconv.Itoa(i))
	}
	return strings.Join(words, ",")
}

// Layers with linear attention come in groups that end with one that sees all tokens.
func TestRingLinear(t *testing.T) {
	a, _ := read(t, `{"model_type": "bailing_moe_linear", "num_hidden_layers": 16, "hidden_size": 4096, "intermediate_size": 9216,
		"first_k_dense_replace": 1, "moe_intermediate_size": 1024, "num_experts_per_tok": 8, "num_attention_heads": 32, "num_experts": 256,
		"num_key_value_heads": 4, "head_dim": 128, "num_shared_experts": 1, "vocab_size": 157184, "layer_group_size": 8,
		"max_position_embeddings": 131072, "torch_dtype": "bfloat16"}`)
	k := a.SequenceState(1, hardware.BF16)
	near(t, "bytes that grow: 2 of 16 layers, 2·4·128 elements", k.Growing, 2*2*4*128*2, 0)
	near(t, "bytes of the states: 14 layers of 32 matrices of 128²", k.Fixed, 14*32*128*128*4, 0)
}

// Formats of single modules come before those of all: what a rule names is stored as the rule says.
func TestModuleRules(t *testing.T) {
	const layers, hidden, inner = 32, 4096, 11008
	down, out := int64(layers*hidden*inner), int64(layers*hidden*hidden)
	gptq := func(rules string) string {
		return llamaWith(`, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128` + rules + `}`)
	}
	bytes := func(config string) int64 {
		a, _ := read(t, config)
		return a.WeightBytes(a.DType)
	}
	whole, int4, int8 := bytes(gptq("")), standardFormat(hardware.INT4),
		Format{Bits: 8, Group: 64, GroupBits: 24}
	for _, c := range []struct {
		name, config string
		more         int64
	}{
		{"all that there are",
			gptq(`, "modules_in_block_to_quantize": [["mlp.gate_proj", "mlp.down_proj", "self_attn"]]`), 0},
		{"not quantised", gptq(`, "dynamic": {"-:.*o_proj.*": {}}`), 2*out - int4.Bytes(out)},
		{"with bits of its own",
			gptq(`, "dynamic": {"+:.*down_proj.*": {"bits": 8, "group_size": 64}}`),
			int8.Bytes(down) - int4.Bytes(down)},
		{"of one layer", gptq(
			`, "extra_config": {"model.layers.7.mlp.down_proj": {"bits": 16, "data_type": "float"}}`),
			(2*down - int4.Bytes(down)) / layers},
		{"only those listed", gptq(
			`, "modules_in_block_to_quantize": [["self_attn.q_proj"], ["self_attn.o_proj", "mlp.gate_proj"]]`),
			2*down - int4.Bytes(down)},
	} {
		if more := bytes(c.config) - whole; more != c.more {
			t.Errorf("%s: %d bytes more than without the rule, want %d", c.name, more, c.more)
		}
	}
}

// Experts are found by the names that their family gives them.
func TestExpertsByName(t *testing.T) {
	mixtral := func(rules string) int64 {
		a, _ := read(t, llamaWith(
			`, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,
			"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128`+rules+`}`))
		return a.WeightBytes(a.DType)
	}
	listed := mixtral(`, "modules_in_block_to_quantize": [["self_attn.q_proj", "self_attn.o_proj"],
		["block_sparse_moe.experts.0.w1", "block_sparse_moe.experts.0.w2"]]`)
	if whole := mixtral(""); listed != whole {
		t.Errorf("%d bytes with all modules listed, %d without a list", listed, whole)
	}
}

// What a quantised checkpoint says beyond the known keys, and may cost, is refused.
func TestQuantisationKeys(t *testing.T) {
	for config, want := range map[string]string{
		`"quant_method": "awq", "bits": 4, "new_expert_bits": 2`:                         "the key new_expert_bits (found 2) is not understood",
		`"quant_method": "gptq", "bits": 4, "dynamic": {"-:(": {}}`:                      "missing closing )",
		`"quant_method": "gptq", "bits": 4, "dynamic": {"x": {"bits": 9}}`:               "bits: found 9, want 2, 3, 4, 5, 6, 8 or 16",
		`"quant_method": "fp8", "sparsity_config": {"format": "sparse-24-bitmask"}`:      "weights of which some are left out are not modelled",
		`"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "int3"}}`:  `dtype: found "int3", want fp4`,
		`"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [[1, 2, 3]]`: "want names of modules",
	} {
		_, _, err := FromHuggingFace(
			strings.NewReader(llamaWith(`, "quantization_config": {`+config+`}`)), "test")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", config, err, want)
		}
	}
}

// The wrapper of a language model may repeat its keys and describe towers; anything else that may
// cost is refused.
func TestWrapper(t *testing.T) {
	wrapped := func(keys string) error {
		_, _, err := FromHuggingFace(strings.NewReader(`{"model_type": "kimi_vl", "text_config": {`+
			llama+`}`+keys+`}`), "test")
		return err
	}
	for _, keys := range []string{``, `, "vocab_size": 32000`,
		`, "spatial_merge_size": 2, "projector_hidden_act": "gelu"`, `, "talker_config": {"x": 1}`,
		`, "img_token_compression_config": {"spatial_merge_size": 2}`} {
		if err := wrapped(keys); err != nil {
			t.Errorf("%s: %v", keys, err)
		}
	}
	for _, keys := range []string{`, "vocab_size": 32001`, `, "memory_layers": 3`,
		`, "second_config": {"num_hidden_layers": 4}`} {
		if err := wrapped(keys); err == nil {
			t.Errorf("%s is accepted", keys)
		}
	}
}
