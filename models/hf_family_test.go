package models

import (
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
)

// TestFamilies that the catalogue lacks, and other spellings of families that it has, against
// published counts.
func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   int64
		config string
	}{
		{"bigscience/bloom-560m", 559_214_592,
			`{"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
			"vocab_size": 250880, "torch_dtype": "float16"}`},
		{"EleutherAI/pythia-6.9b", 6_857_302_016,
			`{"model_type": "gpt_neox", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
			"intermediate_size": 16384, "vocab_size": 50432, "max_position_embeddings": 2048, "torch_dtype": "float16"}`},
		{"facebook/opt-350m, norms last and a narrow embedding", 331_196_416,
			`{"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24,
			"num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
			"do_layer_norm_before": false, "torch_dtype": "float16"}`},
		{"facebook/opt-13b", 12_853_473_280,
			`{"model_type": "opt", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40,
			"ffn_dim": 20480, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 5120, "torch_dtype": "float16"}`},
		{"tiiuae/falcon-rw-1b, biases, no multi-query, no parallel block", 1_311_625_216,
			`{"model_type": "falcon", "hidden_size": 2048, "n_layer": 24,
			"n_head": 32, "vocab_size": 50304, "alibi": true, "bias": true, "multi_query": false, "parallel_attn": false, "torch_dtype": "bfloat16"}`},
		{"tiiuae/falcon-40b by its first name", 41_303_293_952,
			`{"model_type": "RefinedWeb", "hidden_size": 8192, "n_layer": 60, "n_head": 128,
			"n_head_kv": 8, "vocab_size": 65024, "parallel_attn": true, "bias": false, "torch_dtype": "bfloat16"}`},
		{"tiiuae/falcon-7b, whose num_kv_heads does not count", 6_921_720_704,
			`{"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
			"num_attention_heads": 71, "num_kv_heads": 71, "multi_query": true, "new_decoder_architecture": false, "vocab_size": 65024, "torch_dtype": "bfloat16"}`},
		{"microsoft/phi-1_5, whose attention_bias is wrong", 1_418_270_720,
			`{"model_type": "phi", "hidden_size": 2048, "num_hidden_layers": 24,
			"num_attention_heads": 32, "num_key_value_heads": null, "intermediate_size": 8192, "vocab_size": 51200, "attention_bias": false,
			"max_position_embeddings": 2048, "torch_dtype": "float16"}`},
		{"google/gemma-7b, heads wider than the model", 8_537_680_896,
			`{"model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28,
			"num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000,
			"max_position_embeddings": 8192, "torch_dtype": "bfloat16"}`},
		{"google/gemma-3-1b-it", 999_885_952,
			`{"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26, "num_attention_heads": 4,
			"num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144, "max_position_embeddings": 32768,
			"sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16"}`},
		{"internlm/internlm2-7b", 7_737_708_544,
			`{"model_type": "internlm2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
			"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 92544, "bias": false, "max_position_embeddings": 32768,
			"rope_scaling": {"factor": 2.0, "type": "dynamic"}, "torch_dtype": "bfloat16"}`},
		{"THUDM/chatglm3-6b", 6_243_584_000,
			`{"model_type": "chatglm", "hidden_size": 4096, "num_layers": 28, "num_attention_heads": 32,
			"multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128, "ffn_hidden_size": 13696, "padded_vocab_size": 65024,
			"seq_length": 8192, "add_qkv_bias": true, "add_bias_linear": false, "torch_dtype": "float16"}`},
		{"Qwen/Qwen1.5-MoE-A2.7B", 14_315_784_192,
			`{"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
			"num_key_value_heads": 16, "intermediate_size": 5632, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60,
			"num_experts_per_tok": 4, "decoder_sparse_step": 1, "vocab_size": 151936, "max_position_embeddings": 8192, "sliding_window": 32768,
			"max_window_layers": 21, "use_sliding_window": false, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}`},
		{"bigcode/starcoder2-7b", 7_173_923_840,
			`{"model_type": "starcoder2", "hidden_size": 4608, "num_hidden_layers": 32, "num_attention_heads": 36,
			"num_key_value_heads": 4, "intermediate_size": 18432, "vocab_size": 49152, "max_position_embeddings": 16384, "sliding_window": 4096,
			"use_bias": true, "torch_dtype": "bfloat16"}`},
		{"baichuan-inc/Baichuan2-13B-Base", 13_896_668_160,
			`{"model_type": "baichuan", "hidden_size": 5120, "num_hidden_layers": 40,
			"num_attention_heads": 40, "intermediate_size": 13696, "vocab_size": 125696, "model_max_length": 4096, "torch_dtype": "bfloat16"}`},
		{"moonshotai/Kimi-K2-Instruct, a DeepSeek-V3", 1_026_408_232_448,
			`{"model_type": "kimi_k2", "hidden_size": 7168, "num_hidden_layers": 61,
			"num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 384,
			"num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
			"qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 163840, "max_position_embeddings": 131072,
			"torch_dtype": "bfloat16"}`},
		{"google/gemma-3-4b-it without its vision tower, which leaves most to defaults",
			4_300_079_472 - 419_816_304, `{"model_type": "gemma3",
			"torch_dtype": "bfloat16", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
			"num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}}`},
		{"gpt2 as MPT spells it, but for positions, biases and norms",
			124_439_808 - 1024*768 - 12*(9*768+2*768) - 768, `{"model_type": "mpt", "d_model": 768,
			"n_layers": 12, "n_heads": 12, "expansion_ratio": 4, "vocab_size": 50257, "max_seq_len": 1024, "torch_dtype": "float32"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, warnings := read(t, c.config)
			if got := a.Parameters().Total(); got != c.want || len(warnings) > 0 {
				t.Errorf("%d parameters, want %d: %+v; warnings %q", got, c.want, a.Parameters(),
					warnings)
			}
		})
	}
}

// Every row of families.yaml names traits and code that exist, and no model_type has two rows.
func TestRowsOfFamiliesAreKnown(t *testing.T) {
	var rows []family
	testkit.OK(t, files.DecodeYAML(familiesFile, &rows))
	types, code := map[string]bool{}, map[string]bool{"": true}
	traits := new(shape).traits()
	for _, f := range rows {
		names := slices.Clone(f.Traits)
		for _, some := range f.Flags {
			names = append(names, some...)
		}
		for _, name := range names {
			if traits[name] == nil {
				t.Errorf("%s: no trait is named %s", f.Types, name)
			}
		}
		for _, name := range f.Types {
			if types[name] {
				t.Errorf("model_type %s has two rows", name)
			}
			types[name] = true
		}
		if code[f.Code] = true; f.Code != "" && readers[f.Code] == nil {
			t.Errorf("%s: no code is named %s", f.Types, f.Code)
		}
		for key, want := range f.Only {
			if _, number := want.(int); !number && want != true && want != false {
				t.Errorf("%s: only: %s: found %v, want a number or a bool", f.Types, key, want)
			}
		}
	}
	if len(readers) != len(code)-1 {
		t.Errorf("%d functions for %d names in column code", len(readers), len(code)-1)
	}
}
