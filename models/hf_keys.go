package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// harmless are keys of config.json that change nothing that is counted or timed here: tokens,
// training, numerics of norms and positions, how text is generated and what is returned.
var harmless = regexp.MustCompile(`^(` + strings.Join([]string{
	// The fields of transformers' PretrainedConfig that every old config repeats.
	`_name_or_path|_attn_implementation\w*|_commit_hash|_\w*internal|_from_model_config|architectures|auto_map|transformers_version|model_type|name|`,
	`add_cross_attention|bad_words_ids|begin_suppress_tokens|chunk_size_feed_forward|cross_attention_hidden_size|custom_pipelines|`,
	`decoder_start_token_id|diversity_penalty|do_sample|early_stopping|encoder_no_repeat_ngram_size|exponential_decay_length_penalty|`,
	`finetuning_task|forced_\w+|id2label|label2id|is_decoder|is_composition|length_penalty|max_length|min_length|max_new_tokens|`,
	`no_repeat_ngram_size|num_beam_groups|num_beams|num_return_sequences|num_labels|output_\w+|prefix|pretraining_tp|problem_type|`,
	`pruned_heads|remove_invalid_values|repetition_penalty|return_\w+|suppress_tokens|task_specific_params|temperature|tf_legacy_loss|`,
	`tie_encoder_decoder|tokenizer_class|top_k|top_p|torchscript|typical_p|use_bfloat16|use_cache|`,
	// Tokens, norms, positions and activations.
	`\w*_token_ids?|\w*_token_index|\w*_tokens_ids|image_seq_length|\w*_eps|\w*epsilon|\w*rope_theta|rope_\w+|rotary_\w+|partial_rotary_factor\w*|`,
	`\w*rope_scaling\w*|\w*_rope_interleave|original_max_position_embeddings|max_sequence_length|model_max_length|seq_length|seq_len\w*|`,
	`initial_context_length|use_mrope|mrope_\w+|hidden_act|\w*_act|\w*activation\w*|\w*_fn|alibi\w*|position_embedding_type|use_rotary\w*|`,
	`swiglu_\w+|\w*softcapping|\w*soft_cap|logits_scaling|logit_scale|\w*_multiplier(s|_scale)?|query_pre_attn_scalar|attention_value_scale|`,
	`attention_scale|attn_scale|attn_temperature_tuning|floor_scale|scale_\w+|\w*_clip\w*|clip_qkv|\w*_clamp\w*|gate_lower_bound|`,
	`normalization_\w+|norm_type|interpolate_factor|normalize_\w+|norm_reduce\w*|rmsnorm\w*|\w*gemma_norm|layernorm_compute_dtype|apply_residual\w*|`,
	// Routing that chooses other experts, but the same number.
	`norm_topk_prob|\w*routed_scaling_factor|router_\w*(coef|noise|scal|activation|logits|jitter|dtype|soft)\w*|\w*router_scaling\w*|scoring_func|moe_router\w*(dtype|func|fusion|load|scaling|topk_scaling)\w*|n_group|topk_group|`,
	`topk_method|num_expert_group|use_grouped_topk|moe_renormalize|moe_\w*(loss|capacity|dropout|jitter|scale|norm_min|aux|gate_act)\w*|seq_aux|\w*aux_loss\w*|ep_size|`,
	`moe_group_topk|moe_topk_group|num_limited_groups|group_limited\w*|moe_use_\w+|balancing_loss\w*|`,
	// Training and initial values.
	`\w*dropout\w*|\w*pdrop|\w*drop\w*|initializer_\w+|init_\w+|\w*_init|\w*_init_\w+|\w*loss\w*|gradient_checkpointing|rescale_prenorm_residual|`,
	`residual_in_fp32|use_reentrant|train_\w+|training_\w+|z_loss\w*|ignore_index|classifier_\w+|summary_\w+|problem_\w+|reward_\w+|`,
	// State-space layers: numerics, kernels and training.
	`time_step_\w+|mamba_hidden_act|use_mamba_kernels|num_logits_to_keep|mamba_chunk_size|chunk_size|mlp_hidden_act|activation_situ\w*|`,
	`sparse_(score_type|init_block|local_block)|indexer_rope\w*|attn_res_\w+|moe_shared_expert_overlap|use_unified_vision_chunk|video_\w+|image_\w+|audio_\w+|`,
	`vision_\w*(id|index|token)\w*|vision_(start|end)\w*|vision_soft_tokens\w*|\w*placeholder\w*|boa_\w*|boi_\w*|eoa_\w*|eoi_\w*|`,
	`use_bidirectional_attention|use_flash_attn|use_rms_?norm|use_cache_\w+|use_dynamic_ntk|use_logn_attn|flash_attn\w*|fp16|bf16|fp32|enable_\w*fp32\w*|onnx_safe|language|`,
	`hc_(eps|sinkhorn_iters)|compress_rope_theta|mamba_ssm_\w*rounding|mlp_layer_norm|cla_share_factor_unused|deepstack\w*|attn_implementation|`,
	`kv_channels|unsloth_\w*|quantization_status|sliding_window_size_unused|use_post_norm_unused|eos_\w+|bos_\w+|pad_\w+|cls_\w+|sep_\w+|dtype|torch_dtype`,
}, "") + `)$`)

// costly are words in keys that are likely to change what is stored or computed.
var costly = regexp.MustCompile(
	`(?i)layer|head|dim|size|rank|expert|topk|top_k|window|sparse|mamba|ssm|conv|state|linear|latent|index|` +
		`compress|depth|width|hidden|group|block|loop|recur|mtp|nextn|lora|attn|attention|mixer|moe|ffn|mlp|mult|ratio|pattern|interval|freq|` +
		`step|kv|vocab|bias|norm|gate|quant|memory|adapter|embed|kernel|stride|cross|encoder|decoder|router|cache|residual|pool|ngram|share|sink|module`)

// checkKeys returns an error for the first key, in alphabetic order, that was not read and is
// likely to change what is stored or computed. It warns of the other keys that were not read.
func (c *config) checkKeys() {
	var ignored []string
	for _, name := range c.unread(harmless) {
		if costly.MatchString(name) {
			c.fail("the key %s (found %s) is not understood, and may change what is stored or "+
				"computed: "+
				"what it means for model_type %q would have to be known", name,
				describe(c.values[name]), c.modelType())
			return
		}
		ignored = append(ignored, name)
	}
	if len(ignored) > 0 {
		c.warn("keys that are not known and taken to change no cost: %s",
			strings.Join(ignored, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(c.sections)) {
		c.sections[name].checkSection()
	}
}

// unread returns the keys that were not read, say something, and are not harmless, in order.
func (c *config) unread(harmless *regexp.Regexp) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.values)), func(name string) bool {
		return c.used[name] || saysAbsent(c.values[name]) || harmless.MatchString(name)
	})
}

// ofTowers are words in keys that are about images and sounds: beside a language model they change
// nothing of it.
var ofTowers = regexp.MustCompile(
	`(?i)image|^img_|vision|visual|video|audio|speech|patch|pixel|projector|multimodal|^mm_|media|tile|frame|` +
		`select_layer|downsample_ratio|understand|thumbnail|pad2square|spatial_merge`)

// checkWrapper checks the keys beside the section of the language model: a key that repeats it, and
// keys of towers, are not looked at. Other parts of a model are not served here, and a warning says
// so.
func (c *config) checkWrapper(text *config) {
	c.markRead("tie_word_embeddings", "use_backbone_lora", "use_llm_lora", "template", "ps_version")
	c.markRead(textSections...)
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		value := c.values[name]
		_, nested := value.(map[string]any)
		switch {
		case reflect.DeepEqual(value, text.values[name]), !nested && ofTowers.MatchString(name):
			c.markRead(name)
		case nested && slices.Contains([]string{"talker_config", "code2wav_config",
			"token2wav_config"}, name):
			c.markRead(name)
			c.top().warn("%s: the part that speaks is not counted; engines serve the one "+
				"that thinks", name)
		case nested && !c.used[name] && !saysAbsent(value) && ofTowers.MatchString(name):
			c.markRead(name)
			c.top().warn("%s is not read: what it says of images and sounds is not counted", name)
		case nested && !c.used[name] && !saysAbsent(value) && !harmless.MatchString(name):
			c.fail("the key %s (found an object) is not understood, and may be a part of the model",
				name)
		}
	}
	c.checkKeys()
}

// checkSection checks the keys of a section that gives the shape; others are checked by what
// read them.
func (c *config) checkSection() {
	switch c.path {
	case "attn_config", "ffn_config", "linear_attn_config", "sparse_attention_config", "ssm_cfg":
		for _, name := range c.unread(harmless) {
			if costly.MatchString(name) {
				c.fail("the key %s (found %s) is not understood, and may change what is stored "+
					"or computed", name, describe(c.values[name]))
				return
			}
		}
	}
}

func (c *config) modelType() string {
	s, _ := c.values["model_type"].(string)
	return s
}

// saysAbsent reports whether a value says that something is absent.
func saysAbsent(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == "" || v == "none"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	}
	return fmt.Sprint(value) == ""
}

// textSections are the names under which models of several modes keep their language model.
var textSections = []string{"text_config", "llm_config", "language_config", "thinker_config"}
