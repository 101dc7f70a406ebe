package models

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/hardware"
)

// read reads a config.json that must be right.
func read(t *testing.T, config string) (*Architecture, []string) {
	t.Helper()
	a, warnings, err := FromHuggingFace(strings.NewReader(config), "test")
	if err != nil {
		t.Fatal(err)
	}
	return a, warnings
}

// Families that the catalogue lacks, and other spellings of those that it has, against published counts.
func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   int64
		config string
	}{
		{"bigscience/bloom-560m", 559_214_592, `{"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
			"vocab_size": 250880, "torch_dtype": "float16"}`},
		{"EleutherAI/pythia-6.9b", 6_857_302_016, `{"model_type": "gpt_neox", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
			"intermediate_size": 16384, "vocab_size": 50432, "max_position_embeddings": 2048, "torch_dtype": "float16"}`},
		{"facebook/opt-350m, norms last and a narrow embedding", 331_196_416, `{"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24,
			"num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
			"do_layer_norm_before": false, "torch_dtype": "float16"}`},
		{"facebook/opt-13b", 12_853_473_280, `{"model_type": "opt", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40,
			"ffn_dim": 20480, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 5120, "torch_dtype": "float16"}`},
		{"tiiuae/falcon-rw-1b, biases, no multi-query, no parallel block", 1_311_625_216, `{"model_type": "falcon", "hidden_size": 2048, "n_layer": 24,
			"n_head": 32, "vocab_size": 50304, "alibi": true, "bias": true, "multi_query": false, "parallel_attn": false, "torch_dtype": "bfloat16"}`},
		{"tiiuae/falcon-40b by its first name", 41_303_293_952, `{"model_type": "RefinedWeb", "hidden_size": 8192, "n_layer": 60, "n_head": 128,
			"n_head_kv": 8, "vocab_size": 65024, "parallel_attn": true, "bias": false, "torch_dtype": "bfloat16"}`},
		{"tiiuae/falcon-7b, whose num_kv_heads does not count", 6_921_720_704, `{"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
			"num_attention_heads": 71, "num_kv_heads": 71, "multi_query": true, "new_decoder_architecture": false, "vocab_size": 65024, "torch_dtype": "bfloat16"}`},
		{"microsoft/phi-1_5, whose attention_bias is wrong", 1_418_270_720, `{"model_type": "phi", "hidden_size": 2048, "num_hidden_layers": 24,
			"num_attention_heads": 32, "num_key_value_heads": null, "intermediate_size": 8192, "vocab_size": 51200, "attention_bias": false,
			"max_position_embeddings": 2048, "torch_dtype": "float16"}`},
		{"google/gemma-7b, heads wider than the model", 8_537_680_896, `{"model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28,
			"num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000,
			"max_position_embeddings": 8192, "torch_dtype": "bfloat16"}`},
		{"google/gemma-3-1b-it", 999_885_952, `{"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26, "num_attention_heads": 4,
			"num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144, "max_position_embeddings": 32768,
			"sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16"}`},
		{"internlm/internlm2-7b", 7_737_708_544, `{"model_type": "internlm2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
			"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 92544, "bias": false, "max_position_embeddings": 32768,
			"rope_scaling": {"factor": 2.0, "type": "dynamic"}, "torch_dtype": "bfloat16"}`},
		{"THUDM/chatglm3-6b", 6_243_584_000, `{"model_type": "chatglm", "hidden_size": 4096, "num_layers": 28, "num_attention_heads": 32,
			"multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128, "ffn_hidden_size": 13696, "padded_vocab_size": 65024,
			"seq_length": 8192, "add_qkv_bias": true, "add_bias_linear": false, "torch_dtype": "float16"}`},
		{"Qwen/Qwen1.5-MoE-A2.7B", 14_315_784_192, `{"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
			"num_key_value_heads": 16, "intermediate_size": 5632, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60,
			"num_experts_per_tok": 4, "decoder_sparse_step": 1, "vocab_size": 151936, "max_position_embeddings": 8192, "sliding_window": 32768,
			"max_window_layers": 21, "use_sliding_window": false, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}`},
		{"gpt2 as MPT spells it, but for positions, biases and norms", 124_439_808 - 1024*768 - 12*(9*768+2*768) - 768, `{"model_type": "mpt", "d_model": 768,
			"n_layers": 12, "n_heads": 12, "expansion_ratio": 4, "vocab_size": 50257, "max_seq_len": 1024, "torch_dtype": "float32"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, warnings := read(t, c.config)
			if got := a.Parameters().Total(); got != c.want || len(warnings) > 0 {
				t.Errorf("%d parameters, want %d: %+v; warnings %q", got, c.want, a.Parameters(), warnings)
			}
		})
	}
}

const llama = `"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008,
	"vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"`

// What fields of all families mean, told by what they change in Llama-2-7B.
func TestFields(t *testing.T) {
	base, _ := read(t, "{"+llama+"}")
	for config, change := range map[string]func(a *Architecture){
		``: func(*Architecture) {},
		`, "num_key_value_heads": null, "head_dim": null`:              func(*Architecture) {},
		`, "num_key_value_heads": 8`:                                   func(a *Architecture) { a.KVHeads = 8 },
		`, "multi_query": true`:                                        func(a *Architecture) { a.KVHeads = 1 },
		`, "head_dim": 64`:                                             func(a *Architecture) { a.HeadDim = 64 },
		`, "hidden_size": 4096.0`:                                      func(*Architecture) {},
		`, "tie_word_embeddings": true`:                                func(a *Architecture) { a.TiedEmbeddings = true },
		`, "attention_bias": true`:                                     func(a *Architecture) { a.QKVBias, a.OutBias = true, true },
		`, "mlp_bias": true`:                                           func(a *Architecture) { a.MLPBias = true },
		`, "torch_dtype": "bfloat16"`:                                  func(a *Architecture) { a.DType = hardware.BF16 },
		`, "quantization_config": {"quant_method": "awq", "bits": 4}`:  func(a *Architecture) { a.DType = hardware.INT4 },
		`, "quantization_config": {"quant_method": "gptq", "bits": 8}`: func(a *Architecture) { a.DType = hardware.INT8 },
		`, "quantization_config": {"quant_method": "fp8"}`:             func(a *Architecture) { a.DType = hardware.FP8 },
		`, "rope_scaling": {"type": "linear", "factor": 4}`:            func(a *Architecture) { a.MaxContext = 16384 },
		`, "rope_scaling": {"rope_type": "llama3", "factor": 8}`:       func(*Architecture) {},
		`, "rope_parameters": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}`: func(a *Architecture) { a.MaxContext = 8192 },
		`, "sliding_window": 1024`:                                                                             func(a *Architecture) { a.Window = 1024 },
		`, "sliding_window": 1024, "use_sliding_window": false`:                                                func(*Architecture) {},
		`, "sliding_window": 1024, "max_window_layers": 28`:                                                    func(a *Architecture) { a.Window, a.WindowLayers = 1024, 4 },
		`, "sliding_window": 1024, "max_window_layers": 40`:                                                    func(*Architecture) {},
		`, "sliding_window": 1024, "sliding_window_pattern": 4`:                                                func(a *Architecture) { a.Window, a.WindowLayers = 1024, 24 },
		`, "sliding_window": 9, "sliding_window_pattern": "LG", "layer_types": [` + layerTypes(16, 16) + `]`:   func(a *Architecture) { a.Window, a.WindowLayers = 9, 16 },
		`, "sliding_window": 9, "layer_types": [` + layerTypes(32, 0) + `]`:                                    func(*Architecture) {},
		`, "num_local_experts": 8, "num_experts_per_tok": 2`:                                                   func(a *Architecture) { a.MoE = &MoE{Experts: 8, Active: 2, Intermediate: 11008} },
		`, "num_local_experts": 8, "num_experts_per_tok": 2, "mlp_only_layers": [0, 0, 5, 99, -1, "x"]`:        func(a *Architecture) { a.MoE = &MoE{Experts: 8, Active: 2, Intermediate: 11008, DenseLayers: 2} },
		`, "num_experts": 8, "num_experts_per_tok": 2, "decoder_sparse_step": 2, "moe_intermediate_size": 512`: func(a *Architecture) { a.MoE = &MoE{Experts: 8, Active: 2, Intermediate: 512, DenseLayers: 16} },
		`, "num_experts": 8, "first_k_dense_replace": 40, "num_experts_per_tok": 2`:                            func(*Architecture) {},
		`, "num_experts": 8, "num_experts_per_tok": 2, "moe_layers": [1, 3, 3]`:                                func(a *Architecture) { a.MoE = &MoE{Experts: 8, Active: 2, Intermediate: 11008, DenseLayers: 30} },
		`, "kv_lora_rank": 512, "q_lora_rank": null, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128`: func(a *Architecture) {
			a.MLA, a.HeadDim = &MLA{KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128}, 192
		},
	} {
		want := *base
		change(&want)
		a, warnings := read(t, "{"+llama+config+"}")
		if diff := cmp.Diff(&want, a); diff != "" || len(warnings) > 0 {
			t.Errorf("%s: warnings %q\n%s", config, warnings, diff)
		}
	}
}

// layerTypes lists so many layers with full attention, and so many with a window.
func layerTypes(full, windowed int) string {
	kinds := strings.Repeat(`"full_attention",`, full) + strings.Repeat(`"sliding_attention",`, windowed)
	return strings.TrimSuffix(kinds, ",")
}

// What was assumed or left out is told.
func TestWarnings(t *testing.T) {
	for config, want := range map[string]string{
		strings.Replace(llama, `"llama"`, `"newlm"`, 1):             `model_type "newlm" is not known`,
		strings.Replace(llama, `"torch_dtype"`, `"x"`, 1):           "torch_dtype is missing",
		llama + `, "torch_dtype": "float4"`:                         `torch_dtype "float4" is not known`,
		llama + `, "quantization_config": {"quant_method": "new"}`:  `quant_method "new" is not known`,
		llama + `, "vision_config": {"hidden_size": 1024}`:          "only the language model is counted",
		`"vision_config": {"x": 1}, "text_config": {` + llama + `}`: "only the language model is counted",
	} {
		a, warnings := read(t, "{"+config+"}")
		if len(warnings) != 1 || !strings.Contains(warnings[0], want) || a.Parameters().Total() != 6_738_415_616 {
			t.Errorf("%s: %d parameters, warnings %q, want %q", config, a.Parameters().Total(), warnings, want)
		}
	}
}

// Mistakes are refused with what was found, where, and what is right.
func TestMistakes(t *testing.T) {
	drop := func(field string) string { return strings.Replace(llama, field, "x_"+field, 1) }
	for config, want := range map[string]string{
		``:                                    "the file is empty",
		`[1]`:                                 "found array, want a JSON object",
		`null`:                                "found null, want a JSON object",
		"{\n,}":                               "line 2: invalid character",
		"{\n":                                 "line 2: the file ends inside the JSON object",
		"{}{}":                                "found more after the JSON object",
		`{` + drop("hidden_size") + `}`:       "hidden_size is missing (also known as n_embd, d_model, n_embed); did you mean it by x_hidden_size?",
		`{` + drop("num_hidden_layers") + `}`: "num_hidden_layers is missing (also known as n_layer, n_layers, num_layers)",
		`{` + drop("intermediate_size") + `}`: "intermediate_size is missing",
		`{` + drop("max_position_embeddings") + `}`:                                "max_position_embeddings is missing",
		`{` + llama + `, "hidden_size": -4096}`:                                    "hidden_size: found -4096, want a whole number",
		`{` + llama + `, "hidden_size": 4096.5}`:                                   "hidden_size: found 4096.5, want a whole number",
		`{` + llama + `, "hidden_size": 1e400}`:                                    "hidden_size: found 1e400, want a whole number",
		`{` + llama + `, "hidden_size": "big"}`:                                    `hidden_size: found "big", want a whole number`,
		`{` + llama + `, "hidden_size": [1, 2]}`:                                   "hidden_size: found a list, want a whole number",
		`{` + llama + `, "hidden_size": 0}`:                                        "hidden size: found 0, want 1 to 131072",
		`{` + llama + `, "hidden_size": 99999968}`:                                 "hidden size: found 99999968, want 1 to 131072",
		`{` + llama + `, "hidden_size": NaN}`:                                      "line 2: invalid character",
		`{` + llama + `, "num_hidden_layers": 1000000000}`:                         "layers: found 1000000000, want 1 to 1024",
		`{` + llama + `, "num_attention_heads": 33}`:                               "hidden size 4096 is not a multiple of the 33 heads, and head_dim is missing",
		`{` + llama + `, "num_attention_heads": 0}`:                                "heads: found 0 query",
		`{` + llama + `, "num_key_value_heads": 5}`:                                "KV heads: found 5, want a divisor of the 32 query heads",
		`{` + llama + `, "tie_word_embeddings": 1}`:                                "tie_word_embeddings: found 1, want true or false",
		`{` + llama + `, "model_type": 7}`:                                         "model_type: found 7, want a string",
		`{` + llama + `, "rope_scaling": {"type": "linear", "factor": -1}}`:        "rope_scaling: factor: found -1, want a number from 1",
		`{` + llama + `, "rope_scaling": {"type": "linear", "factor": "x"}}`:       `rope_scaling: factor: found "x", want a number`,
		`{` + llama + `, "layer_types": ["full_attention"]}`:                       "layer_types: want full_attention, sliding_attention or chunked_attention for each of 32 layers",
		`{` + llama + `, "num_experts": 8}`:                                        "num_experts_per_tok is missing",
		`{` + llama + `, "num_experts": 8, "num_experts_per_tok": 9}`:              "active experts: found 9, want at most the 8 experts",
		`{` + llama + `, "kv_lora_rank": 512}`:                                     "qk_rope_head_dim is missing",
		`{` + llama + `, "is_encoder_decoder": true}`:                              "only decoder-only models are known",
		`{` + llama + `, "mamba_d_state": 128}`:                                    "state-space and linear-attention layers are not known",
		`{` + llama + `, "x": "` + strings.Repeat("x", maxConfigBytes) + `"}`:      "more than 1048576 bytes",
		`{"text_config": {"model_type": "llama"}, "vision_config": {"x": "long"}}`: "num_hidden_layers is missing",
	} {
		_, _, err := FromHuggingFace(strings.NewReader(config), "my.json")
		if err == nil || !strings.HasPrefix(err.Error(), "my.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s:\n got %v\nwant %s", config, err, want)
		}
	}
}

// Whatever the file says, the reader returns an error or an architecture that makes sense.
func FuzzFromHuggingFace(f *testing.F) {
	f.Add("{" + llama + "}")
	f.Add(`{"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 9, "max_seq_len": 7, "attn_config": {"kv_n_heads": 2}}`)
	f.Add("{" + llama + `, "kv_lora_rank": 1, "qk_rope_head_dim": 1, "qk_nope_head_dim": 1, "v_head_dim": 1, "num_experts": 3, "num_experts_per_tok": 1}`)
	f.Add("{" + llama + `, "sliding_window": 5, "rope_scaling": {"type": "yarn", "factor": 1e5}, "text_config": {}, "mlp_only_layers": [1, {}]}`)
	f.Fuzz(func(t *testing.T, config string) {
		a, _, err := FromHuggingFace(strings.NewReader(config), "fuzz")
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		p := a.Parameters()
		if p.Total() <= 0 || a.ActiveParameters().Total() > p.Total() || a.WeightBytes(hardware.FP32) <= 0 {
			t.Fatalf("%+v has %+v", a, p)
		}
		if one, two := a.KVBytesOfSequence(1, hardware.BF16, 1), a.KVBytesOfSequence(2, hardware.BF16, 1); one <= 0 || two < one {
			t.Fatalf("%+v stores %d bytes for a token and %d for two", a, one, two)
		}
	})
}
