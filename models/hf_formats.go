package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// Formats of four bits with shared scales: OCP Microscaling Formats 1.0 (2023), section 5.2, and
// NVIDIA, "Introducing NVFP4", 2025.
var (
	mxfp4 = standardFormat(hardware.MXFP4)
	nvfp4 = standardFormat(hardware.FP4)
	mxfp8 = Format{DType: hardware.FP8, Bits: 8, Group: 32, GroupBits: 8}
)

// plain16 is the format of modules that are not quantised.
var plain16 = Format{DType: hardware.BF16, Bits: 16}

// integerType names integers of the given bits.
func integerType(bits int64) hardware.DType { return hardware.DType(fmt.Sprintf("int%d", bits)) }

// group returns the number of weights that share a scale; 0 where a channel does (which -1 says
// too).
func (c quantSection) group(spellings ...string) int {
	name, value, found := c.find(spellings...)
	if n, ok := value.(json.Number); found && ok && n.String() == "-1" {
		return 0
	} else if !found {
		return 128
	}
	n := c.whole(name, value)
	if n > 1<<20 {
		c.fail("%s: found %d, want at most %d", name, n, 1<<20)
	}
	return n
}

// blocks8 returns FP8 with a scale for each block of weights, or for each tensor or channel.
func (c quantSection) blocks8() Format {
	block := c.counts("weight_block_size")
	if len(block) > 0 && (len(block) != 2 || slices.Min(block) < 1) {
		c.fail("weight_block_size: found %v, want two numbers of weights, 1 at least", block)
	}
	switch {
	case slices.Equal(block, []int{1, 32}):
		return mxfp8
	case len(block) > 0:
		return standardFormat(hardware.FP8Block)
	}
	return standardFormat(hardware.FP8)
}

// integers returns the format of weight-only integers: GPTQ and AWQ keep a 16-bit scale and a zero
// point a group.
func (c quantSection) integers(method string) Format {
	bits := int64(c.need("bits", "w_bit"))
	group := int64(c.group("group_size", "q_group_size"))
	if bits < 2 || bits > 8 || bits == 7 {
		c.fail("bits: found %d, want 2, 3, 4, 5, 6 or 8 for quant_method %s", bits, method)
	}
	return Format{DType: integerType(bits), Bits: bits, Group: group, GroupBits: 16 + bits}
}

// bitsAndBytes returns NF4 and FP4 in blocks of 64 with a 32-bit scale, which is in 8 bits itself
// where quantised twice (QLoRA, arXiv:2305.14314, section 3), or INT8 a row.
func (c quantSection) bitsAndBytes() Format {
	c.markRead("bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "bnb_4bit_quant_storage")
	switch {
	case c.flag(false, "load_in_8bit", "_load_in_8bit"):
		return standardFormat(hardware.INT8)
	case c.flag(false, "load_in_4bit", "_load_in_4bit"):
		f := Format{DType: hardware.INT4, Bits: 4, Group: 64, GroupBits: 32}
		if c.flag(false, "bnb_4bit_use_double_quant") {
			f.GroupBits = 8 // and 32 bits for 256 blocks, which are neglected
		}
		return f
	}
	c.fail("bitsandbytes: neither load_in_4bit nor load_in_8bit is true")
	return Format{}
}

// quarkWeight reads how AMD Quark stores weights.
func (c quantSection) quarkWeight() Format {
	switch kind := c.text("dtype"); kind {
	case "fp4":
		return mxfp4
	case "fp8_e4m3":
		return standardFormat(hardware.FP8)
	case "int8":
		return standardFormat(hardware.INT8)
	case "int4", "uint4":
		return Format{DType: hardware.INT4, Bits: 4, Group: int64(c.group("group_size")),
			GroupBits: 16}
	case "":
		return plain16
	default:
		c.fail("dtype: found %q, want fp4, fp8_e4m3, int8, int4 or uint4", kind)
	}
	return Format{}
}

// compressedTensors reads groups of modules with the formats of their weights and activations.
func (c quantSection) compressedTensors(excluded modulePatterns) *quantisation {
	q := &quantisation{excluded: excluded, kv: c.cacheScheme()}
	groups := c.section("config_groups")
	for _, name := range slices.Sorted(maps.Keys(groups.values)) {
		g := groups.section(name)
		weights := g.section("weights")
		if len(weights.values) == 0 {
			continue
		}
		f := weights.scheme()
		if len(g.section("input_activations").values) == 0 {
			f.WeightOnly = f.DType == hardware.FP8 || f.DType == hardware.FP4 ||
				f.DType == hardware.INT8 || f.DType == hardware.MXFP4
		}
		q.groups = append(q.groups, quantised{targets: g.patterns("targets"), format: f})
	}
	if len(q.groups) == 0 {
		c.fail("config_groups: no group says how weights are stored")
	}
	return q
}

// scheme reads the format of weights: bits, kind, and what shares a scale.
func (c quantSection) scheme() Format {
	bits, kind, group := int64(c.need("num_bits")), c.text("type"), c.group("group_size")
	c.markRead("strategy", "symmetric", "block_structure")
	if !c.has("group_size") || c.text("strategy") == "channel" || c.text("strategy") == "tensor" {
		group = 0
	}
	switch {
	case kind == "float" && bits == 4 && group == 32:
		return mxfp4
	case kind == "float" && bits == 4:
		return nvfp4
	case kind == "float" && bits == 8 && group == 32:
		return mxfp8
	case kind == "float" && bits == 8:
		return standardFormat(hardware.FP8)
	case kind == "int" && bits == 8 && group == 0:
		return standardFormat(hardware.INT8)
	case kind == "int" && bits >= 2 && bits <= 8 && bits != 7:
		f := Format{DType: integerType(bits), Bits: bits, Group: int64(group), GroupBits: 16}
		if !c.flag(true, "symmetric") {
			f.GroupBits += bits
		}
		return f
	}
	c.fail("weights: found %d bits of type %q, want float of 4 or 8, or int of 2 to 8", bits, kind)
	return Format{}
}

// cacheScheme returns the number format of the cache that the publisher says, or empty.
func (c quantSection) cacheScheme() hardware.DType {
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
func (c quantSection) algorithm(key, name string) Format {
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
func (c quantSection) modelOpt() *quantisation {
	q := &quantisation{excluded: c.patterns("exclude_modules", "ignore", "modules_to_not_convert"),
		kv: c.cacheScheme()}
	c.markRead("group_size", "producer", "config_groups")
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
