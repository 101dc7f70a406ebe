package models

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// rules reads formats of single modules that differ from the rest: GPTQModel's dynamic, AutoRound's
// extra_config and AMD Quark's layer_quant_config. The rest has the format f.
func (c *config) rules(f Format) []quantised {
	rules := c.dynamic(f)
	overrides := c.section("extra_config")
	for _, name := range slices.Sorted(maps.Keys(overrides.values)) {
		rules = append(rules, quantised{targets: c.pattern(asExpression(name)),
			format: overrides.section(name).override(f)})
	}
	layers := c.section("layer_quant_config")
	for _, name := range slices.Sorted(maps.Keys(layers.values)) {
		rules = append(rules, quantised{targets: c.pattern(name),
			format: layers.section(name).section("weight").quarkWeight()})
	}
	return rules
}

// dynamic reads GPTQModel's rules: a regular expression after "-:" names modules that are not
// quantised, one after "+:" or nothing those with settings of their own. Modules that are not
// quantised come first.
func (c *config) dynamic(f Format) []quantised {
	section := c.section("dynamic")
	var rules, skipped []quantised
	for _, name := range slices.Sorted(maps.Keys(section.values)) {
		if expression, skip := strings.CutPrefix(name, "-:"); skip {
			skipped = append(skipped, quantised{targets: c.pattern("re:" + expression),
				format: plain16})
			continue
		}
		own := section.section(name).override(f)
		rules = append(rules, quantised{targets: c.pattern("re:" + strings.TrimPrefix(name, "+:")),
			format: own})
	}
	return append(skipped, rules...)
}

// override returns f with the bits and the group of a module of its own; 16 bits and more mean that
// it is not quantised.
func (c *config) override(f Format) Format {
	bits := int64(c.count(int(f.Bits), "bits", "w_bit"))
	c.use("data_type", "sym", "desc_act", "act_bits", "act_data_type", "act_dynamic",
		"act_group_size", "act_sym", "mse", "damp_percent")
	switch {
	case bits >= 16:
		return plain16
	case bits < 2 || bits > 8 || bits == 7:
		c.fail("bits: found %d, want 2, 3, 4, 5, 6, 8 or 16", bits)
		return f
	}
	f.GroupBits += bits - f.Bits
	f.Bits, f.DType = bits, integerType(bits)
	if c.has("group_size") {
		f.Group = int64(c.group("group_size"))
	}
	return f
}

// asExpression returns a pattern for a name in which there may be the signs of regular expressions.
func asExpression(name string) string {
	if strings.ContainsAny(name, "*^$[(|\\") {
		return "re:" + name
	}
	return name
}

// costlyQuantisation are words in keys of quantization_config that may change what is stored.
var costlyQuantisation = regexp.MustCompile(
	`(?i)bits|dtype|layer|group|lm_head|spars|kv_|cache|dynamic|config|head|module|skip|` +
		`ignore|exclude|embed|expert|weight|block|codebook|rank`)

// harmlessQuantisation are keys that say how weights were found or packed, not how many bits they
// have.
var harmlessQuantisation = regexp.MustCompile(
	`^(activation_scheme|weight_block_size|quant_method|desc_act|(fp8_|)block_name_to_quantize|` +
		`to_quant_block_names|quant_block_list|modules_to_fuse|exllama_config|module_name_preceding_first_block|algo_config|` +
		`export|weight_format|scale_dtype|super_group_size|super_bits|act_\w*|bnb_4bit_\w*|llm_int8_\w*|cache_block_outputs|` +
		`dynamic_max_gap|enable_norm_bias_tuning|enable_quanted_input|low_\w*|quant_nontext_module|ignore_scale_zp_bits|` +
		`modules_in_block_to_quantize_unused|scale_fmt|checkpoint_format|packing_format|is_checkpoint_\w*|linear_activation_scheme|` +
		`moe_activation_scheme|dequantize|run_compressed|quantization_status|global_compression_ratio|group_size|hyb_act|nblocks|` +
		`static_groups|pack_dtype|meta|format|transform_config|input_activations|output_tensors|quant_mode)$`)

// checkQuantisation returns an error for keys of quantization_config that were not read and may
// change what is stored.
func (c *config) checkQuantisation() {
	if sparse := c.section("sparsity_config"); len(sparse.values) > 0 {
		if format := sparse.text("format"); format != "dense" {
			c.fail("sparsity_config: format: found %q, but weights of which some are left out "+
				"are not modelled", format)
		}
	}
	if c.flag(false, "lm_head", "quant_lm_head") {
		c.top().warn("the output head is quantised in the checkpoint; it is counted in 16 bits")
	}
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		value := c.values[name]
		if !c.used[name] && !inert(value) && !harmlessQuantisation.MatchString(name) &&
			costlyQuantisation.MatchString(name) {
			c.fail("the key %s (found %s) is not understood, and may change what is stored", name,
				describe(value))
			return
		}
	}
}
