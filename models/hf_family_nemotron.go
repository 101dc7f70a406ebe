package models

import (
	"github.com/llmsim/llmsim/hardware"
)

// readNemotronH reads layers that are a mixer or an MLP, each with one norm: Mamba-2, attention
// without rotation, an MLP or experts with two matrices (Nemotron-H, arXiv:2504.03624, section 2).
func readNemotronH(c *config, s *shape) {
	mamba := &Recurrent{
		Kind: Mamba2, Heads: c.need("mamba_num_heads"), KeyHeads: c.need("n_groups"),
		KeyDim:   c.need("ssm_state_size"),
		ValueDim: c.need("mamba_head_dim"), Conv: c.need("conv_kernel"), ConvBias: c.flag(true,
			"use_conv_bias"),
		ProjectionBias: c.flag(false, "use_bias"), StateType: c.stateType(hardware.FP32,
			"mamba_ssm_cache_dtype"),
	}
	s.moe = s.nemotronExperts(c)
	dense := &Dense{Intermediate: s.intermediate, Bias: s.mlpBias}
	for i, kind := range c.nemotronLayers() {
		g := Group{Count: 1, Norms: 1}
		switch kind {
		case "M", "mamba":
			g.Mixer = mamba
		case "*", "attention":
			g.Mixer = &s.attention
		case "-", "mlp":
			g.MLP = dense
		case "E", "moe":
			if g.MLP = s.moe; s.moe == nil {
				c.fail("layer %d has experts, but n_routed_experts is missing", i)
				return
			}
		default:
			c.fail("layer %d is %q, want M or mamba, * or attention, - or mlp, E or moe", i, kind)
			return
		}
		s.built = append(s.built, g)
	}
}

// nemotronExperts returns the experts, or nil without experts.
func (s *shape) nemotronExperts(c *config) *MoE {
	experts := c.count(0, "n_routed_experts")
	if experts == 0 {
		return nil
	}
	m := &MoE{
		Experts: experts, Active: c.need("num_experts_per_tok"),
		Intermediate: c.need("moe_intermediate_size"),
		Shared:       c.count(0, "n_shared_experts"), Latent: c.count(0, "moe_latent_size"),
		RouterBias: true,
	}
	m.SharedIntermediate = m.Shared * c.count(m.Intermediate, "moe_shared_expert_intermediate_size")
	return m
}

// nemotronLayers returns the kind of each layer.
func (c *config) nemotronLayers() []string {
	if kinds := c.words("layers_block_type"); kinds != nil {
		return kinds
	}
	var kinds []string
	for _, r := range c.text("hybrid_override_pattern") {
		kinds = append(kinds, string(r))
	}
	if kinds == nil {
		c.failMissing([]string{"hybrid_override_pattern", "layers_block_type"})
	}
	return kinds
}

// readNemotronNAS reads layers that a search made unlike: without attention or with one matrix in
// its place, and with MLPs of different widths (Puzzle, arXiv:2411.19146).
func readNemotronNAS(c *config, s *shape) {
	for i, block := range c.list("block_configs") {
		values, ok := block.(map[string]any)
		if !ok {
			c.fail("block_configs: element %d: found %s, want an object", i, describe(block))
			return
		}
		b := newConfig(values)
		b.outer, b.path = c, "block_configs"
		g := Group{Count: 1}
		g.Mixer = s.nasAttention(b)
		g.MLP = s.nasMLP(b)
		g.Norms = len(g.parts())
		s.built = append(s.built, g)
	}
	for i := range s.built { // alike layers have one mixer and one MLP
		for j := range i {
			s.built[i].shareParts(&s.built[j])
		}
	}
}

// shareParts gives g the mixer and the MLP of another layer where they are alike.
func (g *Group) shareParts(other *Group) {
	if a, ok := g.Mixer.(*Softmax); ok {
		if b, ok := other.Mixer.(*Softmax); ok && *a == *b {
			g.Mixer = b
		}
	}
	if a, ok := g.MLP.(*Dense); ok {
		if b, ok := other.MLP.(*Dense); ok && *a == *b {
			g.MLP = b
		}
	}
}

func (s *shape) nasAttention(c *config) Mixer {
	a := c.section("attention")
	switch {
	case a.flag(false, "no_op"):
		return nil
	case a.flag(false, "replace_with_linear"):
		a.fail("replace_with_linear: layers with a matrix in place of attention are not modelled")
	case a.count(0, "window_length") > 0:
		a.fail("window_length: windows of single layers are not modelled")
	}
	group := a.need("n_heads_in_group")
	if group < 1 || s.attention.Heads%group != 0 {
		a.fail("n_heads_in_group: found %d, want a divisor of the %d heads", group,
			s.attention.Heads)
		return nil
	}
	m := s.attention
	m.KVHeads = s.attention.Heads / group
	return &m
}

func (s *shape) nasMLP(c *config) MLP {
	f := c.section("ffn")
	switch {
	case f.flag(false, "no_op"):
		return nil
	case f.flag(false, "replace_with_linear"):
		f.fail("replace_with_linear: layers with a matrix in place of the MLP are not modelled")
	}
	mult := f.number(0, "ffn_mult")
	if !(mult > 0 && mult < 100) {
		f.fail("ffn_mult: found %v, want a number above 0", mult)
		return nil
	}
	width := int(2 * mult * float64(s.Hidden) / 3)
	return &Dense{Intermediate: (width + 255) / 256 * 256, Gated: true}
}
