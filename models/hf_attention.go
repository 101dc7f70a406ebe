package models

import (
	"encoding/json"
	"slices"
	"strings"
)

// readHeads reads the heads: where KV heads are not given, multi_query means one, and otherwise
// each query head has one.
func (s *shape) readHeads(c *config, f family) {
	s.attention.Heads = c.need("num_attention_heads", "n_head", "n_heads", "num_heads")
	kv := s.attention.Heads
	if c.flag(false, "multi_query", "multi_query_attention") {
		kv = 1
	}
	spellings := []string{"num_key_value_heads", "num_kv_heads", "n_head_kv",
		"multi_query_group_num", "num_query_groups", "num_attention_groups"}
	s.attention.KVHeads = c.count(kv, spellings...)
	s.attention.HeadDim = c.count(0, "head_dim", "kv_channels", "attention_head_dim")
	if s.attention.Heads == 0 || s.attention.KVHeads == 0 {
		c.fail("heads: found %d query and %d KV heads, want at least 1", s.attention.Heads,
			s.attention.KVHeads)
		return
	}
	width := s.attention.Heads * s.attention.HeadDim
	switch {
	case s.attention.HeadDim == 0 && s.Hidden%s.attention.Heads != 0 && !f.Latent:
		c.fail("hidden size %d is not a multiple of the %d heads, and head_dim is missing",
			s.Hidden, s.attention.Heads)
	case s.attention.HeadDim == 0:
		s.attention.HeadDim = s.Hidden / s.attention.Heads
	case f.HeadsFillHidden && width != s.Hidden:
		c.fail("head_dim: %d heads of %d are %d wide, but hidden_size is %d", s.attention.Heads,
			s.attention.HeadDim, width, s.Hidden)
	}
}

// readMLA reads multi-head latent attention, which kv_lora_rank marks, and the indexer of sparse
// attention.
func (s *shape) readMLA(c *config) {
	rank := c.count(0, "kv_lora_rank")
	if rank == 0 {
		return
	}
	s.mla = &MLA{
		Heads:      s.attention.Heads,
		QueryRank:  c.count(0, "q_lora_rank"),
		KVRank:     rank,
		RopeDim:    c.need("qk_rope_head_dim"),
		NopeDim:    c.need("qk_nope_head_dim"),
		ValueDim:   c.need("v_head_dim"),
		OutputGate: c.flag(false, "mla_use_output_gate"),
	}
	c.markRead("mla_use_nope", "mla_use_output_gate")
	if width := c.count(0, "qk_head_dim"); width > 0 && width != s.mla.NopeDim+s.mla.RopeDim {
		c.fail("qk_head_dim is %d, but qk_nope_head_dim and qk_rope_head_dim are %d together",
			width, s.mla.NopeDim+s.mla.RopeDim)
	}
	if topK := c.count(0, "index_topk"); topK > 0 {
		s.mla.Indexer = &Indexer{Heads: c.need("index_n_heads"), Dim: c.need("index_head_dim"),
			TopK: topK}
		s.readIndexerTypes(c)
	}
}

// readIndexerTypes reads which layers score tokens themselves, and which take the choice of the one
// before them.
func (s *shape) readIndexerTypes(c *config) {
	types := c.indexerTypes(s.layers)
	if types != nil && len(types) != s.layers {
		c.fail("indexer_types: found %d entries for %d layers", len(types), s.layers)
	}
	kinds := make([]string, len(types))
	for i, t := range types {
		switch {
		case t == "full":
			kinds[i] = "full_attention"
		case t == "shared" && i > 0:
			kinds[i] = "follows"
		default:
			c.fail("indexer_types: layer %d is %q, want full or, after the first, shared", i, t)
			return
		}
	}
	if slices.Contains(kinds, "follows") {
		follows, given := *s.mla, *s.mla.Indexer
		given.Given = true
		follows.Indexer = &given
		s.mixers, s.kinds = map[string]Mixer{"follows": &follows}, kinds
	}
}

// indexerTypes returns "full" or "shared" for each layer, nil where all are full: as they are
// listed, by a pattern of the letters F and S, or at every nth layer after the first ones
// (vllm/model_executor/models/deepseek_v2.py, v0.23, DeepseekV2MLAAttention).
func (c *config) indexerTypes(layers int) []string {
	pattern, listed := c.text("index_topk_pattern"), c.words("indexer_types")
	c.markRead("index_share_for_mtp_iteration") // predictors share a choice between their own steps
	every, after := c.count(1, "index_topk_freq"), c.count(2, "index_skip_topk_offset")
	var types []string
	switch {
	case pattern != "":
		names := map[rune]string{'F': "full", 'S': "shared"}
		for i, letter := range pattern {
			if names[letter] == "" {
				c.fail("index_topk_pattern: layer %d is %q, want F or S", i, letter)
				return nil
			}
			types = append(types, names[letter])
		}
	case listed != nil:
		return listed
	case every > 1:
		for i := range min(layers, maxLayers) {
			name := "shared"
			if max(i-after+1, 0)%every == 0 {
				name = "full"
			}
			types = append(types, name)
		}
	}
	return types
}

// readMixers reads what each layer has where not all have the same: sliding windows, chunks, and
// recurrent layers.
func (s *shape) readMixers(c *config) {
	// -1 says that no layer has a window
	if n, ok := c.values["sliding_window"].(json.Number); ok && n.String() == "-1" {
		c.values["sliding_window"] = nil
	}
	window := c.firstCount(0, "sliding_window", "attention_chunk_size", "sliding_window_size")
	c.markRead("sliding_window", "attention_chunk_size", "sliding_window_size", "max_window_layers",
		"sliding_window_pattern")
	if !c.flag(true, "use_sliding_window") {
		window = 0
	}
	if s.mixers == nil {
		s.mixers = map[string]Mixer{}
	}
	if _, own := s.mixers["sliding_attention"]; !own && s.mla == nil {
		windowed := s.attention
		windowed.Window = window
		for _, kind := range []string{"sliding_attention", "chunked_attention"} {
			s.mixers[kind] = &windowed
		}
	}
	kinds := s.layerKinds(c, window)
	for i, kind := range kinds {
		if s.mixer(kind) == nil {
			c.fail("layer_types: layer %d is %q, which is not known for model_type %q", i, kind,
				s.Family)
			return
		}
		if strings.HasPrefix(kind, "sliding") && window == 0 {
			c.fail("layer_types: layer %d has a sliding window, but sliding_window is missing", i)
			return
		}
	}
	s.kinds = kinds
}

// layerKinds returns the kind of each layer: what layer_types names, or all but one in a fixed
// number with a window, or all after the first few, or all.
func (s *shape) layerKinds(c *config, window int) []string {
	if s.kinds != nil {
		return s.kinds
	}
	if kinds := c.words("layer_types"); kinds != nil {
		if len(kinds) != s.layers {
			c.fail("layer_types: found %d entries for %d layers", len(kinds), s.layers)
		}
		return kinds
	}
	every := c.firstCount(0, "sliding_window_pattern", "no_rope_layer_interval",
		"full_attention_interval")
	first := c.count(0, "max_window_layers")
	kinds := make([]string, min(s.layers, maxLayers))
	partial := "sliding_attention"
	if _, recurrent := s.mixers["linear_attention"]; recurrent {
		partial = "linear_attention"
	} else if window == 0 {
		return nil
	}
	for i := range kinds {
		kinds[i] = "full_attention"
		if every > 0 && (i+1)%every != 0 || every == 0 && i >= first &&
			partial == "sliding_attention" {
			kinds[i] = partial
		}
	}
	return kinds
}
