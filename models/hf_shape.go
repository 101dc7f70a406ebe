package models

// maxLayers is the largest number of layers that is laid out; Validate refuses more.
const maxLayers = 1 << 10

// shape is what a config.json tells before its layers are laid out.
type shape struct {
	Architecture
	layers, intermediate int
	attention            Softmax
	mla                  *MLA
	moe                  *MoE
	// gated, mlpBias and parallel are as in Dense and Group. norms is the number of norms of a layer; 0 means 2.
	gated, mlpBias, parallel bool
	norms                    int
	// window is the sliding window of the layers in windowed; sparse are the layers that have experts.
	window           int
	windowed, sparse []bool
}

// layOut returns the architecture with a group for each run of alike layers.
func (s *shape) layOut() *Architecture {
	a := s.Architecture
	var full, windowed Mixer
	s.attention.NoRotary = s.attention.NoRotary || s.LearnedPositions > 0
	if s.mla != nil {
		full, windowed = s.mla, s.mla
	} else {
		f, w := s.attention, s.attention
		w.Window = s.window
		full, windowed = &f, &w
	}
	dense := &Dense{Intermediate: s.intermediate, Gated: s.gated, Bias: s.mlpBias}
	norms := s.norms
	if norms == 0 {
		norms = 2
	}
	for i := range min(s.layers, maxLayers) {
		g := Group{Count: 1, Mixer: full, MLP: dense, Norms: norms, Parallel: s.parallel}
		if i < len(s.windowed) && s.windowed[i] {
			g.Mixer = windowed
		}
		if i < len(s.sparse) && s.sparse[i] {
			g.MLP = s.moe
		}
		a.addLayer(g)
	}
	return &a
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
