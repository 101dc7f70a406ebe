package models

import "strings"

// towerSection is the section of a config that describes an encoder of images or sounds.
type towerSection struct{ *config }

// readTowers counts the encoders of images and sounds, and reads how they make tokens.
func (s *shape) readTowers(c *config) {
	for _, t := range []struct{ section, name string }{{"vision_config", "vision"},
		{"audio_config", "audio"}} {
		tower := towerSection{c.section(t.section)}
		if len(tower.values) == 0 {
			continue
		}
		if _, several := tower.values["width"].(map[string]any); several {
			c.top().warn("%s describes several encoders, which are not counted", t.section)
			continue
		}
		built := Tower{Name: t.name}
		var shape ImageEncoder
		built.Parameters, shape = tower.encoder(s.Hidden)
		if t.name == "vision" {
			built.Images = tower.images(shape)
		} else {
			built.Sounds = tower.sounds(shape)
		}
		s.Towers = append(s.Towers, built)
		c.top().warn("the %s tower is counted in parameters and memory, and takes time only for "+
			"workload.images and workload.audio", t.name)
	}
}

// encoder counts the parameters of a transformer that encodes patches of images, or frames of
// sound, for a language model of the given width: blocks of four projections of attention and two
// or three matrices, each with biases unless a key says otherwise, the patch embedding, positions,
// and the projector. Norms of the ends are neglected where the config does not give their kind.
func (c towerSection) encoder(hidden int) (int64, ImageEncoder) {
	layers := c.need("num_hidden_layers", "depth", "vt_num_hidden_layers", "encoder_layers",
		"num_layers", "input_local_layers")
	names := []string{"hidden_size", "vt_hidden_size", "embed_dim", "d_model", "width",
		"input_local_dim"}
	if c.has("embed_dim") && strings.HasPrefix(c.kind(), "qwen2_vl") {
		names = names[2:3]
		c.firstCount(0, "hidden_size") // of the language model
	}
	width := c.need(names...)
	inner := c.firstCount(0, "intermediate_size", "vt_intermediate_size", "encoder_ffn_dim",
		"mlp_dim", "input_local_intermediate_size")
	if inner == 0 {
		inner = int(float64(width) * c.number(4, "mlp_ratio"))
	}
	if layers > 1<<10 || width > 1<<17 || inner > 1<<20 {
		c.fail("found %d layers of %d and %d, want at most %d of %d and %d", layers, width, inner,
			1<<10, 1<<17, 1<<20)
		return 0, ImageEncoder{}
	}
	attention := width
	if w := c.firstCount(0, "qkv_hidden_size"); w > 0 {
		attention = min(w, 1<<17)
	}
	gated, biased := c.gatedEncoder(), c.flag(c.flag(true, "linear_bias"), "attention_bias")
	block := product(4, width, attention) + product(matrices(gated), width, inner) +
		product(2, width)
	if biased {
		block += product(3, attention) + product(2, width) + product(matrices(gated)-1, inner) +
			product(2, width)
	}
	shape := ImageEncoder{Layers: layers, Width: width, Attention: attention, Intermediate: inner,
		Gated: gated}
	n := int64(layers)*block + c.patches(width) + c.projector(width, hidden)
	switch kind := c.kind(); {
	case strings.HasPrefix(kind, "qwen2_5_vl"): // norms and patches without biases
		n -= product(2*layers+2, width)
	case strings.HasPrefix(kind, "qwen2_vl"): // patches without biases
		n -= int64(width)
	case strings.HasPrefix(kind, "glm4v"):
		shape.Gated = true
		shape.Intermediate = min(c.firstCount(hidden, "out_hidden_size"), 1<<17)
		n = c.glm4v(layers, width, inner, shape.Intermediate)
	}
	return n, shape
}

// kind returns the type of the tower; a tower without a type has the model's.
func (c towerSection) kind() string {
	if kind := c.modelType(); kind != "" || c.outer == nil {
		return kind
	}
	return c.outer.modelType()
}

// glm4v counts the encoder of GLM-4.1V and GLM-4.5V (transformers, modeling_glm4v.py): blocks
// without biases whose gated MLP is as wide as the output, a table of positions, a convolution that
// joins patches, and a gated merger with the intermediate width.
func (c towerSection) glm4v(layers, width, inner, out int) int64 {
	patch, join := min(c.firstCount(14, "patch_size"), 1<<8), min(c.firstCount(2,
		"spatial_merge_size"), 16)
	side := min(c.firstCount(336, "image_size"), 1<<14) / max(1, patch)
	block := product(4, width, width) + product(3, width, out) + product(2, width)
	pixels := product(min(c.firstCount(3, "in_channels"), 16), min(c.firstCount(2,
		"temporal_patch_size"), 16), patch, patch)
	embedding := (pixels + int64(side*side) + 3) * int64(width)
	merger := product(out, out) + product(3, out, inner) + product(2, out)
	return int64(layers)*block + embedding + product(join, join, width, out) + int64(out) + merger
}

// images returns the encoder with the rule by which it makes tokens of pixels, which follows from
// its type and from the keys beside it; nil where that is not known, or its numbers are not there.
func (c towerSection) images(e ImageEncoder) *ImageEncoder {
	wrapper := c.outer
	e.Patch, e.Join, e.Side = c.firstCount(0, "patch_size"), c.firstCount(1, "spatial_merge_size"),
		c.firstCount(0, "image_size")
	switch kind := c.kind(); {
	case strings.HasPrefix(kind, "qwen2_vl"), strings.HasPrefix(kind, "qwen2_5_vl"),
		strings.HasPrefix(kind, "qwen3"),
		strings.HasPrefix(kind, "glm4v"):
		e.Rule = NativeSize
	case kind == "pixtral":
		e.Rule, e.Join = RowsOfTokens, wrapper.firstCount(1, "spatial_merge_size")
	case strings.HasPrefix(kind, "siglip") && wrapper.has("mm_tokens_per_image"):
		e.Rule, e.Tokens = FixedSize, wrapper.firstCount(0, "mm_tokens_per_image")
	case strings.HasPrefix(kind, "intern_vit") && wrapper.number(0, "downsample_ratio") == 0.5:
		e.Rule, e.Join, e.Tiles = TiledSize, 2, 1
		if wrapper.flag(false, "dynamic_image_size") {
			e.Tiles = wrapper.firstCount(1, "max_dynamic_patch")
		}
	default:
		return nil
	}
	if e.Patch < 1 || e.Patch > 256 || e.Join < 1 || e.Join > 16 || e.Tiles > 64 ||
		e.Side > 1<<14 ||
		e.Rule != NativeSize && e.Side < e.Patch*e.Join || e.Rule == FixedSize &&
		(e.Tokens < 1 || e.Tokens > 1<<16) {
		return nil
	}
	return &e
}

// sounds returns the encoder with the rule by which it makes tokens of frames, which follows from
// its type; nil where that is not known.
func (c towerSection) sounds(e ImageEncoder) *SoundEncoder {
	s := SoundEncoder{Layers: e.Layers, Width: e.Width, Attention: e.Attention,
		Intermediate: e.Intermediate}
	switch kind := c.modelType(); {
	case kind == "qwen2_audio_encoder":
		s.Rule = Padded
	case kind == "qwen2_5_omni_audio_encoder": // two windows of frames attend to each other
		s.Rule, s.Window = Halved, 2*min(c.firstCount(0, "n_window"), 1<<20)
	case kind == "qwen3_omni_moe_audio_encoder":
		s.Rule, s.Window = Eighths, min(c.firstCount(0, "n_window_infer"), 1<<20)
	case kind == "voxtral_encoder":
		s.Rule = Pieces
	default:
		return nil
	}
	return &s
}

// gatedEncoder reports whether the MLPs of an encoder have three matrices, which follows from its
// type.
func (c towerSection) gatedEncoder() bool {
	switch c.kind() {
	case "gemma4_vision", "pixtral", "qwen2_5_vl":
		return true
	}
	return false
}

// patches counts the embedding of patches and their positions.
func (c towerSection) patches(width int) int64 {
	patch := min(c.firstCount(0, "patch_size"), 1<<10)
	n := product(min(c.firstCount(3, "in_channels", "num_channels", "in_chans"), 1<<10),
		min(c.firstCount(1, "temporal_patch_size"), 16), patch, patch, width) + int64(width)
	positions := c.firstCount(0, "num_position_embeddings")
	if image := c.firstCount(0, "image_size"); image > 0 && patch > 0 && positions == 0 {
		positions = (image / patch) * (image / patch)
	}
	if side := c.firstCount(0, "init_pos_emb_height"); side > 0 {
		positions = min(side, 1<<12) * min(c.firstCount(side, "init_pos_emb_width"), 1<<12)
	}
	if size := c.firstCount(0, "position_embedding_size"); size > 0 {
		positions = 2 * min(size, 1<<24)
	}
	return n + product(min(positions, 1<<25), width)
}

// projector counts the way into the language model: neighbouring patches are joined, and go through
// two matrices (one where they are not joined); the Qwen3-VL family does so for some inner layers
// too (DeepStack), which are normalised after they are joined (transformers, modeling_qwen3_vl.py).
func (c towerSection) projector(width, hidden int) int64 {
	out := min(c.firstCount(hidden, "out_hidden_size", "text_hidden_size", "output_dim"), 1<<17)
	joined := min(c.firstCount(1, "spatial_merge_size"), 16)
	joined *= joined
	for _, side := range c.counts("merge_kernel_size") {
		joined *= min(max(side, 1), 16)
	}
	if joined == 1 {
		return product(width, out)
	}
	merger := product(joined*width, joined*width) + product(joined*width) +
		product(joined*width, out) + int64(out) + product(2, width)
	inner := merger + product(2, joined-1, width)
	return merger + inner*int64(len(c.list("deepstack_visual_indexes")))
}
