package models

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// glm52 is GLM-5.2's config, as far as it has a meaning here, with more keys about its index.
func glm52(index string) string {
	return `{"architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa",
		"attention_bias": false, "dtype": "bfloat16", "first_k_dense_replace": 3, "head_dim": 192,
		"hidden_act": "silu", "hidden_size": 6144, "index_head_dim": 128, "index_n_heads": 32,
		"index_topk": 2048, "indexer_rope_interleave": true, "intermediate_size": 12288,
		"kv_lora_rank": 512, "max_position_embeddings": 1048576, "moe_intermediate_size": 2048,
		"moe_layer_freq": 1, "moe_router_dtype": "float32", "n_group": 1, "n_routed_experts": 256,
		"n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64,
		"num_experts_per_tok": 8, "num_hidden_layers": 78, "num_key_value_heads": 64,
		"num_nextn_predict_layers": 1, "q_lora_rank": 2048, "qk_head_dim": 256,
		"qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
		"rope_parameters": {"rope_theta": 8000000, "rope_type": "default"},
		"routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
		"topk_group": 1, "topk_method": "noaux_tc", "vocab_size": 154880` + index + `}`
}

// Of GLM-5.2's 78 layers 21 score tokens, and 57 take the choice of the one before: by a period, by
// a list and by a pattern alike.
func TestLayersThatShareAnIndex(t *testing.T) {
	var listed []string
	pattern := ""
	for i := range 78 {
		name, letter := `"shared"`, "S"
		if i < 3 || i%4 == 2 {
			name, letter = `"full"`, "F"
		}
		listed, pattern = append(listed, name), pattern+letter
	}
	for _, index := range []string{
		`, "index_topk_freq": 4, "index_skip_topk_offset": 3, "index_topk_pattern": null,
			"index_share_for_mtp_iteration": true`,
		`, "index_topk_freq": 4, "index_skip_topk_offset": 3, "indexer_types": [` +
			strings.Join(listed, ", ") + `]`,
		`, "index_topk_pattern": "` + pattern + `"`,
	} {
		a, warnings, err := FromHuggingFace(strings.NewReader(glm52(index)), "glm-5.2")
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", index, err, warnings)
			continue
		}
		scans, gathers := 0, 0
		for _, l := range a.AttentionLayers(1, hardware.BF16) {
			if l.Scan {
				scans += l.Count
			} else if l.Gathered {
				gathers += l.Count
			}
		}
		if scans != 21 || gathers != 78 {
			t.Errorf("%s: %d layers score tokens and %d attend to chosen ones, want 21 and 78",
				index, scans, gathers)
		}
	}
	if _, _, err := FromHuggingFace(strings.NewReader(glm52(`, "index_topk_pattern": "FX"`)),
		"glm-5.2"); err == nil || !strings.Contains(err.Error(), "want F or S") {
		t.Errorf("found %v, want a refusal of the letter X", err)
	}
}

// Nemotron-3-Ultra lists its layers and does not count them.
func TestLayersThatAreListedAlone(t *testing.T) {
	const kinds = `["mamba", "moe", "mamba", "attention", "moe"]`
	config := func(count string) string {
		return `{"model_type": "nemotron_h", "hidden_size": 1024, "vocab_size": 1000, ` + count + `
			"layers_block_type": ` + kinds + `, "intermediate_size": 2048,
			"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128,
			"mamba_num_heads": 16, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128,
			"conv_kernel": 4, "n_routed_experts": 16, "num_experts_per_tok": 2,
			"moe_intermediate_size": 512, "n_shared_experts": 1,
			"moe_shared_expert_intermediate_size": 1024, "max_position_embeddings": 4096,
			"torch_dtype": "bfloat16"}`
	}
	counted, _, err := FromHuggingFace(strings.NewReader(config(`"num_hidden_layers": 5,`)), "u")
	testkit.OK(t, err)
	listed, _, err := FromHuggingFace(strings.NewReader(config("")), "u")
	testkit.OK(t, err)
	if listed.Layers() != 5 || listed.Parameters() != counted.Parameters() {
		t.Errorf("%d layers with %+v, want 5 with %+v", listed.Layers(), listed.Parameters(),
			counted.Parameters())
	}
}
