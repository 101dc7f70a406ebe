package models

import (
	"maps"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// compressedTensors reads groups of modules with the formats of their weights and activations.
func (c *config) compressedTensors(excluded modulePatterns) *quantisation {
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
func (c *config) scheme() Format {
	bits, kind, group := int64(c.need("num_bits")), c.text("type"), c.group("group_size")
	c.use("strategy", "symmetric", "block_structure")
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
