package models

import (
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// stateType returns the number format of recurrent state: what a key says, or otherwise.
func (c *config) stateType(otherwise hardware.DType, spellings ...string) hardware.DType {
	switch name := c.text(spellings...); name {
	case "float32":
		return hardware.FP32
	case "bfloat16", "float16":
		return hardware.BF16
	case "", "auto":
	default:
		c.fail("%s: found %q, want float32, bfloat16 or float16", spellings[0], name)
	}
	return otherwise
}

// readGatedDelta reads layers with a gated delta net.
func readGatedDelta(c *config, s *shape) {
	s.mixers = map[string]Mixer{"linear_attention": &Recurrent{
		Kind: GatedDeltaNet, Heads: c.need("linear_num_value_heads"),
		KeyHeads: c.need("linear_num_key_heads"),
		KeyDim:   c.need("linear_key_head_dim"), ValueDim: c.need("linear_value_head_dim"),
		Conv:      c.need("linear_conv_kernel_dim"),
		StateType: c.stateType(hardware.BF16, "mamba_ssm_dtype", "mamba_ssm_cache_dtype"),
	}}
}

// readKimiLinear reads layers with Kimi delta attention; lists count layers from 1.
func readKimiLinear(c *config, s *shape) {
	linear := c.section("linear_attn_config")
	s.mixers = map[string]Mixer{"linear_attention": &Recurrent{
		Kind: KimiDelta, Heads: linear.need("num_heads"), KeyHeads: linear.need("num_heads"),
		KeyDim:   linear.need("head_dim"),
		ValueDim: linear.need("head_dim"), Conv: linear.need("short_conv_kernel_size"),
		GateRank: linear.need("head_dim"),
		FullGate: linear.flag(false, "use_full_rank_gate"), StateType: hardware.FP32,
	}}
	full, delta := linear.counts("full_attn_layers"), linear.counts("kda_layers")
	if len(full)+len(delta) != s.layers {
		c.fail("linear_attn_config: %d full_attn_layers and %d kda_layers are not the %d layers",
			len(full), len(delta), s.layers)
		return
	}
	for i := range min(s.layers, maxLayers) {
		switch {
		case slices.Contains(full, i+1):
			s.kinds = append(s.kinds, "full_attention")
		case slices.Contains(delta, i+1):
			s.kinds = append(s.kinds, "linear_attention")
		default:
			c.fail("linear_attn_config: layer %d is neither in full_attn_layers nor in kda_layers",
				i+1)
			return
		}
	}
}

// mambaOf reads a Mamba-2 layer with the keys of transformers' Bamba.
func (s *shape) mambaOf(c *config) *Recurrent {
	heads, width := c.need("mamba_n_heads"), c.firstCount(0, "mamba_d_head")
	inner := c.firstCount(c.count(2, "mamba_expand")*s.Hidden, "mamba_d_ssm")
	if width == 0 && heads > 0 {
		width = inner / heads
	}
	if heads*width != inner {
		c.fail("mamba_d_head: %d heads of %d are %d wide, but the layer is %d", heads, width,
			heads*width, inner)
	}
	c.markRead("mamba_d_ssm", "mamba_expand", "mamba_norm_before_gate", "mamba_rms_norm",
		"mamba_use_mlp")
	return &Recurrent{
		Kind: Mamba2, Heads: heads, ValueDim: width, KeyHeads: c.need("mamba_n_groups"),
		KeyDim: c.need("mamba_d_state"),
		Conv:   c.need("mamba_d_conv"), ConvBias: c.flag(true, "mamba_conv_bias"),
		ProjectionBias: c.flag(false, "mamba_proj_bias"),
		StateType:      c.stateType(hardware.BF16, "mamba_ssm_cache_dtype"),
	}
}

// readFalconH1 reads attention and a Mamba-2 layer beside each other in every layer.
func readFalconH1(c *config, s *shape) {
	both := &ParallelMixers{One: &s.attention, Other: s.mambaOf(c)}
	s.mixers = map[string]Mixer{"full_attention": both}
	s.kinds = slices.Repeat([]string{"full_attention"}, min(s.layers, maxLayers))
}

// readGraniteHybrid reads Mamba-2 layers, and an MLP beside the experts of each layer, or in place
// of them.
func readGraniteHybrid(c *config, s *shape) {
	s.mixers = map[string]Mixer{"mamba": s.mambaOf(c)}
	s.attention.NoRotary = c.text("position_embedding_type") == "nope"
	if c.count(0, "num_local_experts") == 0 {
		s.intermediate = c.need("shared_intermediate_size")
	}
	if kinds := c.words("layers_block_type"); kinds != nil {
		s.kinds = kinds
	}
}

// readBamba reads which layers have attention in place of Mamba-2.
func readBamba(c *config, s *shape) {
	s.mixers = map[string]Mixer{"mamba": s.mambaOf(c)}
	attention := distinctBelow(c.list("attn_layer_indices"), s.layers)
	for i := range min(s.layers, maxLayers) {
		kind := "mamba"
		if attention[i] {
			kind = "full_attention"
		}
		s.kinds = append(s.kinds, kind)
	}
}

// readMiniMaxM1 reads layers with lightning attention, whose heads have the number and the width of
// the query heads.
func readMiniMaxM1(c *config, s *shape) {
	s.mixers = map[string]Mixer{"linear_attention": &Recurrent{
		Kind: Lightning, Heads: s.attention.Heads, KeyHeads: s.attention.Heads,
		KeyDim: s.attention.HeadDim, ValueDim: s.attention.HeadDim,
		StateType: hardware.FP32,
	}}
	if ns := c.counts("attn_type_list"); ns != nil {
		s.kinds = choose(c.listed("attn_type_list", s.layers, len(ns),
			func(i int) bool { return ns[i] == 0 }), "linear_attention", "full_attention")
	}
}

// readMamba2 reads models of Mamba-2 layers only (arXiv:2405.21060), which have neither attention
// nor MLPs. Nothing limits their context: a default of 2²⁰ tokens means that.
func readMamba2(c *config, s *shape) {
	mamba := &Recurrent{
		Kind: Mamba2, Heads: s.attention.Heads, ValueDim: s.attention.HeadDim,
		KeyHeads: c.need("n_groups"), KeyDim: c.need("state_size"),
		Conv: c.need("conv_kernel"), ConvBias: c.flag(true, "use_conv_bias"),
		ProjectionBias: c.flag(false, "use_bias"), StateType: hardware.FP32,
	}
	if inner, want := mamba.values(1), c.count(2, "expand")*s.Hidden; inner != want {
		c.fail("head_dim: %d heads of %d are %d wide, but the layer is %d", mamba.Heads,
			mamba.ValueDim, inner, want)
	}
	for range min(s.layers, maxLayers) {
		s.built = append(s.built, Group{Count: 1, Mixer: mamba, Norms: 1})
	}
}

// readLFM2 reads layers with a gated short convolution, and the width of MLPs, of which two thirds,
// rounded up, are meant where block_auto_adjust_ff_dim says so (transformers, modeling_lfm2.py,
// Lfm2MLP).
func readLFM2(c *config, s *shape) {
	width := c.count(s.Hidden, "conv_dim")
	s.mixers = map[string]Mixer{"conv": &ShortConvolution{Width: width,
		Conv: c.need("conv_L_cache"), Bias: c.flag(false, "conv_bias")}}
	multiple := max(1, c.count(256, "block_multiple_of"))
	factor := c.number(1, "block_ffn_dim_multiplier")
	if c.flag(s.Family == "lfm2", "block_auto_adjust_ff_dim") {
		adjusted := int(factor * float64(2*s.intermediate/3))
		s.intermediate = (adjusted + multiple - 1) / multiple * multiple
	}
	if first := c.count(0, "num_dense_layers"); first > 0 {
		c.values["first_k_dense_replace"] = first
	}
	if c.words("layer_types") != nil {
		c.markRead("full_attn_idxs")
		return
	}
	full := distinctBelow(c.list("full_attn_idxs"), s.layers)
	for i := range min(s.layers, maxLayers) {
		kind := "conv"
		if full[i] {
			kind = "full_attention"
		}
		s.kinds = append(s.kinds, kind)
	}
}
