package models

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// Formats of four bits with shared scales: OCP Microscaling Formats 1.0 (2023), section 5.2, and
// NVIDIA, "Introducing NVFP4", 2025.
var (
	mxfp4 = standardFormat(hardware.MXFP4)
	nvfp4 = standardFormat(hardware.FP4)
	mxfp8 = Format{DType: hardware.FP8, Bits: 8, Group: 32, GroupBits: 8}
)

// plain16 is how modules are stored that are not quantised.
var plain16 = Format{DType: hardware.BF16, Bits: 16}

// integerType names integers of the given bits.
func integerType(bits int64) hardware.DType { return hardware.DType(fmt.Sprintf("int%d", bits)) }

// group returns the number of weights that share a scale; 0 where a channel does (which -1 says
// too).
func (c *config) group(spellings ...string) int {
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
func (c *config) blocks8() Format {
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
func (c *config) integers(method string) Format {
	bits := int64(c.need("bits", "w_bit"))
	group := int64(c.group("group_size", "q_group_size"))
	if bits < 2 || bits > 8 || bits == 7 {
		c.fail("bits: found %d, want 2, 3, 4, 5, 6 or 8 for quant_method %s", bits, method)
	}
	return Format{DType: integerType(bits), Bits: bits, Group: group, GroupBits: 16 + bits}
}

// bitsAndBytes returns NF4 and FP4 in blocks of 64 with a 32-bit scale, which is in 8 bits itself
// where quantised twice (QLoRA, arXiv:2305.14314, section 3), or INT8 a row.
func (c *config) bitsAndBytes() Format {
	c.use("bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "bnb_4bit_quant_storage")
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
func (c *config) quarkWeight() Format {
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
