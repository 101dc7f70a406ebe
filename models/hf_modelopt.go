package models

import (
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// cacheScheme returns the number format of the cache that the publisher says, or empty.
func (c *config) cacheScheme() hardware.DType {
	name, value, found := c.find("kv_cache_scheme", "kv_cache_quant_algo")
	if !found {
		return ""
	}
	if word, ok := value.(string); ok {
		return c.algorithm(name, word).DType
	}
	return c.section(name).scheme().DType
}

// algorithm returns the format that ModelOpt names.
func (c *config) algorithm(key, name string) Format {
	switch strings.ToUpper(name) {
	case "FP8", "FP8_PER_CHANNEL_PER_TOKEN":
		return standardFormat(hardware.FP8)
	case "FP8_PB_WO", "FP8_BLOCK_SCALES":
		return standardFormat(hardware.FP8Block)
	case "NVFP4", "W4A8_NVFP4_FP8":
		return nvfp4
	case "W4A16_NVFP4", "NVFP4_AWQ":
		f := nvfp4
		f.WeightOnly = true
		return f
	case "MXFP4", "W4A8_MXFP4_FP8":
		return mxfp4
	case "MXFP8":
		return mxfp8
	case "W4A16_AWQ", "INT4_AWQ", "W4A8_AWQ", "W4A16":
		return Format{DType: hardware.INT4, Bits: 4, Group: int64(max(1, c.group("group_size"))),
			GroupBits: 16}
	case "W8A16", "INT8", "W8A8_SQ_PER_CHANNEL", "INT8_SQ":
		return standardFormat(hardware.INT8)
	}
	c.fail("%s: found %q, want FP8, FP8_PB_WO, NVFP4, MXFP4, MXFP8, W4A16_AWQ, W4A8_AWQ, W8A16 "+
		"or MIXED_PRECISION", key, name)
	return Format{}
}

// modelOpt reads NVIDIA ModelOpt's section: one algorithm for all, or one for each module.
func (c *config) modelOpt() *quantisation {
	q := &quantisation{excluded: c.patterns("exclude_modules", "ignore", "modules_to_not_convert"),
		kv: c.cacheScheme()}
	c.use("group_size", "producer", "config_groups")
	name := c.text("quant_algo", "moe_quant_algo")
	if name != "MIXED_PRECISION" {
		if name == "" && c.has("config_groups") {
			return c.compressedTensors(q.excluded)
		}
		if name == "" {
			c.fail("quant_algo is missing")
			return q
		}
		q.groups = []quantised{{format: c.algorithm("quant_algo", name)}}
		return q
	}
	modules := c.section("quantized_layers")
	for _, module := range slices.Sorted(maps.Keys(modules.values)) {
		m := modules.section(module)
		q.byModule = append(q.byModule,
			quantised{targets: c.pattern(module),
				format: m.algorithm("quant_algo", m.text("quant_algo"))})
	}
	return q
}
