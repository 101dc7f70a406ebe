package models

import (
	"maps"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// quantise lays out the layers with the formats of their matrices, from quantization_config and
// hf_quant_config.json.
func (c *config) quantise(s *shape, layers []Group, beside *config) *Architecture {
	if q := c.quantisation(beside); q != nil {
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

// quantisation reads how matrices are stored; nil where all are as the tensors. What is said twice
// must agree.
func (c *config) quantisation(beside *config) *quantisation {
	inside := c.section("quantization_config")
	if len(inside.values) == 0 && beside == nil {
		return nil
	}
	if len(inside.values) == 0 {
		return beside.besideConfig(c)
	}
	q := inside.readQuantisation()
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
func (c *config) besideConfig(into *config) *quantisation {
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

// readQuantisation reads quantization_config, and refuses keys in it that may cost something and
// are not understood.
func (c *config) readQuantisation() *quantisation {
	q := c.method()
	if q != nil && q.kv == "" {
		q.kv = c.quarkCache()
	}
	c.checkQuantisation()
	return q
}

// method reads what the method of quantisation says, on which the keys depend.
func (c *config) method() *quantisation {
	method := c.text("quant_method")
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
func (c *config) fp8(q *quantisation) *quantisation {
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
func (c *config) onlyModules() modulePatterns {
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
func (c *config) quarkCache() hardware.DType {
	section := c.section("kv_cache_quant_config")
	for _, name := range slices.Sorted(maps.Keys(section.values)) {
		if f := section.section(name).section("output_tensors").quarkWeight(); f.Bits < 16 {
			return f.DType
		}
	}
	return ""
}

// quantisation is how a checkpoint stores the matrices of its layers.
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
