package models

// maxLayers is the largest number of layers that is laid out; Validate refuses more.
const maxLayers = 1 << 10

// shape is a model as a config.json describes it, before its layers are laid out. The read methods
// fill it, a family's code changes it after them, and layOut turns it into groups of layers.
type shape struct {
	Architecture
	layers, intermediate int
	attention            Softmax
	mla                  *MLA
	moe                  *MoE
	// gated, mlpBias and parallel are as in Dense and Group. norms is the number of norms of a
	// layer; 0 means 2, and -1 means no norms.
	gated, mlpBias, parallel bool
	norms                    int
	// mixers are the mixers by the words of kinds, which has the one of each layer. Without kinds
	// all layers are "full_attention".
	mixers map[string]Mixer
	kinds  []string
	// sparse are the layers that have experts.
	sparse []bool
	// densePredictors reports whether the layers for multi-token prediction have no experts.
	densePredictors bool
	// doubleFrom is the first layer whose MLP is twice as wide; 0 without such layers.
	doubleFrom int
	// built are the layers, where the family lays them out itself.
	built []Group
	// modules are the names of modules in the checkpoint, by linear layer, where the family has
	// names of its own.
	modules map[string][]string
}

// full returns the mixer of layers that see all tokens.
func (s *shape) full() Mixer {
	if s.mla != nil {
		return s.mla
	}
	return &s.attention
}

// mixer returns the mixer of the given kind, or nil where the model has no such layer.
func (s *shape) mixer(kind string) Mixer {
	if m, ok := s.mixers[kind]; ok {
		return m
	}
	switch kind {
	case "full_attention", "attention":
		return s.full()
	}
	return nil
}

// layOut returns the layers one by one.
func (s *shape) layOut(c *config) []Group {
	if s.built != nil {
		if len(s.built) != s.layers && c.top().err == nil {
			c.fail("num_hidden_layers is %d, but %d layers are listed", s.layers, len(s.built))
		}
		return s.built
	}
	s.attention.NoRotary = s.attention.NoRotary || s.LearnedPositions > 0
	dense := &Dense{Intermediate: s.intermediate, Gated: s.gated, Bias: s.mlpBias}
	double := &Dense{Intermediate: 2 * s.intermediate, Gated: s.gated, Bias: s.mlpBias}
	norms := max(0, s.norms)
	if s.norms == 0 {
		norms = 2
	}
	layers := make([]Group, 0, min(s.layers, maxLayers))
	for i := range min(s.layers, maxLayers) {
		g := Group{Count: 1, Mixer: s.full(), MLP: dense, Norms: norms, Parallel: s.parallel}
		if i < len(s.kinds) {
			g.Mixer = s.mixer(s.kinds[i])
		}
		if s.doubleFrom > 0 && i >= s.doubleFrom {
			g.MLP = double
		}
		if i < len(s.sparse) && s.sparse[i] {
			g.MLP = s.moe
		}
		layers = append(layers, g)
	}
	return layers
}

// addLayer appends a layer to the last group, or as a group of its own where it differs.
func (a *Architecture) addLayer(g Group) {
	if n := len(a.Groups); n > 0 {
		last := a.Groups[n-1]
		if last.Count = g.Count; last == g {
			a.Groups[n-1].Count++
			return
		}
	}
	a.Groups = append(a.Groups, g)
}

// readRotary counts the tables of rotary positions, unless the family has counted them.
func (s *shape) readRotary(c *config) {
	dim := int(float64(s.attention.HeadDim) * c.number(c.number(1, "rotary_pct"),
		"partial_rotary_factor"))
	if s.mla != nil {
		dim = s.mla.RopeDim
	}
	if s.RotaryTables == 0 && s.LearnedPositions == 0 && !s.attention.NoRotary {
		s.RotaryTables = product(s.MaxContext, dim)
	}
}

// readPredictors reads the layers for multi-token prediction, which are like the last layer but see
// all tokens.
func (s *shape) readPredictors(c *config) {
	n := c.firstCount(0, "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
	c.markRead("num_mtp_modules", "use_mtp", "mtp_use_dedicated_embeddings",
		"mtp_hybrid_override_pattern", "mtp_layers_block_type")
	n *= c.firstCount(1, "mtp_transformer_layers")
	if n == 0 || n > 64 {
		if n > 64 {
			c.fail("prediction layers: found %d, want 0 to 64", n)
		}
		return
	}
	g := Group{Count: n, Mixer: s.full(), MLP: &Dense{Intermediate: s.intermediate, Gated: s.gated},
		Norms: 3}
	if s.moe != nil && !s.densePredictors {
		g.MLP = s.moe
	}
	s.Predictors = []Group{g}
}
