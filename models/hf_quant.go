package models

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// quantSection is a section of a config that says how matrices are stored.
type quantSection struct{ *config }

// section returns the fields of a nested object, or of an empty one.
func (c quantSection) section(spellings ...string) quantSection {
	return quantSection{c.config.section(spellings...)}
}

// quantise lays out the layers with the formats of their matrices, from quantization_config and
// hf_quant_config.json.
func (s *shape) quantise(c *config, layers []Group, beside *config) *Architecture {
	if q := readQuantisation(c, beside); q != nil {
		s.KV = q.kv
		q.apply(s, layers)
		s.DType = mostUsed(&s.Architecture, layers, s.DType)
	}
	a := s.Architecture
	for _, g := range layers {
		a.addLayer(g)
	}
	return &a
}

// readQuantisation reads how matrices are stored; nil where all are as the tensors. What is said
// twice must agree.
func readQuantisation(c, beside *config) *quantisation {
	inside := quantSection{c.section("quantization_config")}
	if len(inside.values) == 0 && beside == nil {
		return nil
	}
	if len(inside.values) == 0 {
		return quantSection{beside}.besideConfig(c)
	}
	q := inside.quantisation()
	if beside == nil || q == nil {
		return q
	}
	algorithm, other := inside.text("quant_algo"), beside.section("quantization").text("quant_algo")
	if algorithm != "" && other != "" && algorithm != other {
		c.fail("quantization_config says quant_algo %s, but hf_quant_config.json says %s",
			algorithm, other)
	}
	return q
}

// besideConfig reads hf_quant_config.json, in which ModelOpt writes one section.
func (c quantSection) besideConfig(into *config) *quantisation {
	section := c.section("quantization")
	if len(section.values) == 0 {
		into.fail("hf_quant_config.json: quantization is missing")
		return nil
	}
	q := section.modelOpt()
	if c.err != nil {
		into.fail("hf_quant_config.json: %w", c.err)
	}
	return q
}

// quantisation reads quantization_config, and refuses keys in it that may cost something and
// are not understood.
func (c quantSection) quantisation() *quantisation {
	q := c.method()
	if q != nil && q.kv == "" {
		q.kv = c.quarkCache()
	}
	c.checkQuantisation()
	return q
}

// method reads what the method of quantisation says, on which the keys depend.
func (c quantSection) method() *quantisation {
	method := c.text("quant_method")
	c.markRead("store_dtype")
	if method == "" && c.has("quant_algo") {
		method = "modelopt"
	}
	excluded := c.patterns("modules_to_not_convert", "ignored_layers", "ignore", "exclude",
		"exclude_modules", "llm_int8_skip_modules")
	one := func(f Format) *quantisation {
		return &quantisation{groups: []quantised{{format: f}}, excluded: excluded,
			byModule: c.rules(f)}
	}
	switch method {
	case "fp8":
		return c.fp8(one(c.blocks8()))
	case "fbgemm_fp8":
		return one(standardFormat(hardware.FP8))
	case "mxfp8":
		return one(mxfp8)
	case "mxfp4":
		q := one(mxfp4)
		q.expertsOnly = true
		return q
	case "w4afp8": // SGLang: experts in INT4 with a scale for 128 weights, the rest in FP8
		q := one(c.blocks8())
		int4 := Format{DType: hardware.INT4, Bits: 4, Group: int64(c.group("group_size")),
			GroupBits: 16}
		q.byModule = append(q.byModule, quantised{targets: c.pattern(routedExperts), format: int4})
		return q
	case "gptq", "awq", "auto-round", "intel/auto-round", "gptq_marlin", "awq_marlin":
		q := one(c.integers(method))
		q.only = c.onlyModules()
		return q
	case "bitsandbytes":
		return one(c.bitsAndBytes())
	case "compressed-tensors":
		return c.compressedTensors(excluded)
	case "modelopt", "modelopt_fp4", "modelopt_mixed", "modelopt_mxfp8":
		return c.modelOpt()
	case "quark":
		return one(c.section("global_quant_config").section("weight").quarkWeight())
	}
	c.fail("quant_method: found %q, want fp8, fbgemm_fp8, mxfp4, mxfp8, gptq, awq, auto-round, "+
		"bitsandbytes, compressed-tensors, modelopt, "+
		"quark or w4afp8", method)
	return nil
}

// routedExperts names the matrices of routed experts.
const routedExperts = "re:.*experts\\.\\d+.*"

// fp8 adds what checkpoints have besides: experts in four bits (DeepSeek-V4's expert_dtype), or
// single modules in formats of their own.
func (c quantSection) fp8(q *quantisation) *quantisation {
	expert := c.outer.text("expert_dtype")
	switch expert {
	case "", "fp8":
	case "fp4":
		q.byModule = []quantised{{targets: c.pattern(routedExperts), format: mxfp4}}
	default:
		c.outer.fail("expert_dtype: found %q, want fp4 or fp8", expert)
	}
	if c.has("quantized_layers") { // ModelOpt's own formats; what it excludes stays in FP8
		own := c.modelOpt()
		q.byModule, q.excluded, q.kv = own.byModule, modulePatterns{}, own.kv
	}
	return q
}

// onlyModules reads the lists of modules that GPTQ quantised, where not all were.
func (c quantSection) onlyModules() modulePatterns {
	var ps modulePatterns
	for _, inner := range c.list("modules_in_block_to_quantize") {
		names, ok := inner.([]any)
		if !ok {
			names = []any{inner}
		}
		for _, n := range names {
			name, ok := n.(string)
			if !ok {
				c.fail("modules_in_block_to_quantize: found %s, want names of modules", describe(n))
				return ps
			}
			ps.add(modulePattern{text: name})
		}
	}
	return ps
}

// quarkCache returns the number format in which AMD Quark's section says to cache, or empty: the
// format of the outputs of the modules that project keys and values.
func (c quantSection) quarkCache() hardware.DType {
	section := c.section("kv_cache_quant_config")
	for _, name := range slices.Sorted(maps.Keys(section.values)) {
		if f := section.section(name).section("output_tensors").quarkWeight(); f.Bits < 16 {
			return f.DType
		}
	}
	return ""
}

// quantisation says how a checkpoint stores the matrices of its layers.
type quantisation struct {
	// groups are the formats of matrices, the first whose targets name a module; excluded modules
	// stay as tensors are.
	groups   []quantised
	excluded modulePatterns
	// byModule are formats of single modules, which come before all others.
	byModule []quantised
	// only are the modules that are quantised, where the checkpoint lists them; empty means all.
	only modulePatterns
	// expertsOnly reports whether nothing but routed experts is quantised.
	expertsOnly bool
	kv          hardware.DType
}

// quantised is a format with the modules that have it; an empty list means all.
type quantised struct {
	targets modulePatterns
	format  Format
}

// rules reads formats of single modules that differ from the rest: GPTQModel's dynamic, AutoRound's
// extra_config and AMD Quark's layer_quant_config. The rest has the format f.
func (c quantSection) rules(f Format) []quantised {
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
func (c quantSection) dynamic(f Format) []quantised {
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
func (c quantSection) override(f Format) Format {
	bits := int64(c.count(int(f.Bits), "bits", "w_bit"))
	c.markRead("data_type", "sym", "desc_act", "act_bits", "act_data_type", "act_dynamic",
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
func (c quantSection) checkQuantisation() {
	if sparse := c.section("sparsity_config"); len(sparse.values) > 0 {
		if format := sparse.text("format"); format != "dense" {
			c.fail("sparsity_config: format: found %q, but weights of which some are left out "+
				"are not modelled", format)
		}
	}
	if c.flag(false, "lm_head", "quant_lm_head") {
		c.top().warn("the output head is quantised in the checkpoint; it is counted in 16 bits")
	}
	for _, name := range c.unread(harmlessQuantisation) {
		if costlyQuantisation.MatchString(name) {
			c.fail("the key %s (found %s) is not understood, and may change what is stored", name,
				describe(c.values[name]))
			return
		}
	}
}
