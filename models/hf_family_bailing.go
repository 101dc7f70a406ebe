package models

import "github.com/llmsim/llmsim/hardware"

// readBailing reads inclusionAI's Ling and Ring: biases, and, where layers come in groups, linear
// attention in all but the last layer of a group (Ring-linear, arXiv:2510.19338, section 2).
func readBailing(c *config, s *shape) {
	s.attention.QKVBias = c.flag(false, "use_qkv_bias") || c.flag(false, "use_bias")
	s.attention.OutBias = c.flag(false, "use_bias")
	s.mlpBias = s.attention.OutBias
	group := c.count(0, "layer_group_size")
	if group < 2 {
		return
	}
	heads, width := s.attention.Heads, c.count(s.attention.HeadDim, "linear_head_dim")
	s.mixers = map[string]Mixer{"linear_attention": &Recurrent{
		Kind: Lightning, Heads: heads, KeyHeads: heads, KeyDim: width, ValueDim: width,
		QKNorm:    c.flag(false, "use_qk_norm"),
		StateType: hardware.FP32,
	}}
	for i := range min(s.layers, maxLayers) {
		kind := "linear_attention"
		if (i+1)%group == 0 || i >= s.layers/group*group {
			kind = "full_attention"
		}
		s.kinds = append(s.kinds, kind)
	}
}
