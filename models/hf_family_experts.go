package models

import "fmt"

// readGemma4 reads heads that differ between layers with a window and those without, and experts
// beside the MLP of each layer.
func readGemma4(c *config, s *shape) {
	windowed := s.attention
	windowed.Window = c.need("sliding_window")
	s.mixers = map[string]Mixer{"sliding_attention": &windowed}
	s.attention.HeadDim = c.count(s.attention.HeadDim, "global_head_dim")
	s.attention.KVHeads = c.count(s.attention.KVHeads, "num_global_key_value_heads")
	s.attention.SharedKeyValue = c.flag(false, "attention_k_eq_v")
	s.readSharedCaches(c)
	if !c.flag(false, "enable_moe_block") {
		c.values["num_experts"] = nil
		return
	}
	// The MLP beside the experts counts as a shared expert; each has norms of its own.
	c.assume(fields{"shared_expert_intermediate_size": s.intermediate})
	s.norms = 7
	s.modules = map[string][]string{
		"expert_gate_up": {"experts.0.gate_proj", "experts.0.gate_up_proj",
			"moe.experts.0.gate_proj"},
		"expert_down":    {"experts.0.down_proj", "moe.experts.0.down_proj"},
		"shared_gate_up": {"mlp.gate_proj"}, "shared_down": {"mlp.down_proj"},
	}
}

// readSharedCaches reads the embeddings for each layer of Gemma 4, and its last layers, which take
// keys and values of earlier ones and may have wider MLPs.
func (s *shape) readSharedCaches(c *config) {
	if s.LayerInput = c.count(0, "hidden_size_per_layer_input"); s.LayerInput > 0 {
		s.norms = 5
	}
	shared, double := c.count(0, "num_kv_shared_layers"), c.flag(false, "use_double_wide_mlp")
	if shared == 0 {
		return
	}
	kinds := c.words("layer_types")
	first := s.layers - shared
	if len(kinds) != s.layers || first < 1 {
		c.fail("num_kv_shared_layers: found %d of %d layers, of which layer_types has %d", shared,
			s.layers, len(kinds))
		return
	}
	if double {
		s.doubleFrom = first
	}
	const behind = " with an earlier cache"
	for kind, m := range map[string]*Softmax{"full_attention": &s.attention,
		"sliding_attention": s.mixers["sliding_attention"].(*Softmax)} {
		given := *m
		given.SharedCache = true
		s.mixers[kind+behind] = &given
	}
	for i, kind := range kinds {
		if i >= first {
			kind += behind
		}
		s.kinds = append(s.kinds, kind)
	}
}

// readMiniMaxM2 reads the norms of queries and keys, which are over all heads.
func readMiniMaxM2(c *config, s *shape) {
	norm := c.flag(false, "use_qk_norm")
	switch kind := c.text("qk_norm_type"); kind {
	case "per_layer", "":
		s.attention.WideQKNorm = norm
	case "per_head":
		s.attention.QKNorm = norm
	default:
		c.fail("qk_norm_type: found %q, want per_layer or per_head", kind)
	}
	for i, n := range c.counts("attn_type_list") {
		if n != 1 {
			c.fail("attn_type_list: layer %d has %d, but only 1, softmax attention, is known for "+
				"model_type %q", i, n, s.Family)
		}
	}
	s.modules = map[string][]string{
		"expert_gate_up": {"block_sparse_moe.experts.0.w1", "mlp.experts.0.gate_proj"},
		"expert_down":    {"block_sparse_moe.experts.0.w2", "mlp.experts.0.down_proj"},
	}
}

// readMiniMaxM3 reads attention to chosen blocks, which all but the first layers have.
func readMiniMaxM3(c *config, s *shape) {
	readMiniMaxM2(c, s)
	sparse := c.section("sparse_attention_config")
	if !sparse.flag(false, "use_sparse_attention") {
		return
	}
	chosen := s.attention
	chosen.Indexer = &Indexer{
		Heads: sparse.need("sparse_num_index_heads"), Dim: sparse.need("sparse_index_dim"),
		FromInput: true, Unweighted: true,
		TopK: sparse.need("sparse_topk_blocks") * sparse.need("sparse_block_size"),
	}
	sparse.markRead("sparse_disable_index_value", "sparse_init_block", "sparse_local_block",
		"sparse_score_type")
	ns := sparse.counts("sparse_attention_freq")
	layers := sparse.listed("sparse_attention_freq", s.layers, len(ns),
		func(i int) bool { return ns[i] == 1 })
	s.mixers = map[string]Mixer{"sparse_attention": &chosen}
	s.kinds = choose(layers, "sparse_attention", "full_attention")
}

// choose returns one word for the layers that are chosen and another for the rest.
func choose(layers []bool, chosen, rest string) []string {
	words := make([]string, len(layers))
	for i := range words {
		words[i] = rest
		if layers[i] {
			words[i] = chosen
		}
	}
	return words
}

// readMiMoV2 reads layers with a window, which have heads of their own, and values that are
// narrower than keys.
func readMiMoV2(c *config, s *shape) {
	s.attention.ValueDim = c.count(0, "v_head_dim")
	windowed := s.attention
	windowed.Heads = c.count(s.attention.Heads, "swa_num_attention_heads")
	windowed.KVHeads = c.count(s.attention.KVHeads, "swa_num_key_value_heads")
	windowed.HeadDim = c.count(s.attention.HeadDim, "swa_head_dim")
	windowed.ValueDim = c.count(s.attention.ValueDim, "swa_v_head_dim")
	windowed.Sinks = c.flag(false, "add_swa_attention_sink_bias")
	windowed.Window = c.need("sliding_window", "sliding_window_size")
	ns := c.counts("hybrid_layer_pattern")
	layers := c.listed("hybrid_layer_pattern", s.layers, len(ns),
		func(i int) bool { return ns[i] == 1 })
	s.mixers = map[string]Mixer{"sliding_attention": &windowed}
	s.kinds = choose(layers, "sliding_attention", "full_attention")
}

// readStep reads the gates of heads, and layers with a window, which may have heads of their own.
func readStep(c *config, s *shape) {
	windowed := s.attention
	windowed.Window = c.need("sliding_window")
	if other := c.section("attention_other_setting"); len(other.values) > 0 {
		windowed.Heads = other.count(windowed.Heads, "num_attention_heads")
		windowed.KVHeads = other.count(windowed.KVHeads, "num_attention_groups",
			"num_key_value_heads")
		windowed.HeadDim = other.count(windowed.HeadDim, "head_dim")
	}
	s.mixers = map[string]Mixer{"sliding_attention": &windowed}
	s.densePredictors = true
}

// readLaguna reads gates of heads, and query heads whose number differs from layer to layer.
func readLaguna(c *config, s *shape) {
	switch kind := c.text("gating"); kind {
	case "per-head", "per_head":
		s.attention.HeadGate = true
	case "":
	default:
		c.fail("gating: found %q, want per-head", kind)
	}
	s.modules = map[string][]string{"gate": {"self_attn.g_proj"}}
	heads, kinds := c.counts("num_attention_heads_per_layer"), c.words("layer_types")
	if heads == nil {
		return
	}
	if len(heads) != s.layers || len(kinds) != s.layers {
		c.fail("num_attention_heads_per_layer: found %d entries beside %d of layer_types, want "+
			"one for each of the %d layers", len(heads), len(kinds), s.layers)
		return
	}
	s.mixers = map[string]Mixer{}
	for i, n := range heads {
		kind := fmt.Sprintf("%s of %d heads", kinds[i], n)
		s.kinds = append(s.kinds, kind)
		if s.mixers[kind] != nil {
			continue
		}
		m := s.attention
		m.Heads = n
		switch kinds[i] {
		case "sliding_attention":
			m.Window = c.need("sliding_window")
		case "full_attention":
		default:
			c.fail("layer_types: layer %d is %q, which is not known for model_type %q", i, kinds[i],
				s.Family)
			return
		}
		s.mixers[kind] = &m
	}
}

// readDeepSeekV4 reads attention to compressed context, streams of the hidden vector, and experts
// in each layer.
func readDeepSeekV4(c *config, s *shape) {
	base := Compressed{
		Heads: s.attention.Heads, HeadDim: s.attention.HeadDim, RopeDim: c.need("qk_rope_head_dim"),
		QueryRank:  c.need("q_lora_rank"),
		OutputRank: c.need("o_lora_rank"), OutputGroups: c.need("o_groups"),
		Window: c.need("sliding_window"),
	}
	if n := s.attention.KVHeads; n != 1 {
		c.fail("num_key_value_heads: found %d, but compressed attention has 1", n)
	}
	s.Streams = c.count(0, "hc_mult")
	ratios := c.counts("compress_ratios")
	predictors := c.count(0, "num_nextn_predict_layers")
	if spark := len(c.list("dspark_target_layer_ids")); spark > 0 {
		predictors = spark
		c.markRead("dspark_block_size", "dspark_markov_rank")
		c.warn("the %d layers that draft (DSpark) are not counted", spark)
	}
	if n := len(ratios); n != s.layers && n != s.layers+predictors {
		c.fail("compress_ratios: found %d entries for %d layers and %d for prediction", n, s.layers,
			predictors)
		return
	}
	s.mixers = map[string]Mixer{}
	for _, r := range ratios[:s.layers] {
		kind := compressedKind(r)
		if s.kinds = append(s.kinds, kind); s.mixers[kind] != nil {
			continue
		}
		m := base
		m.Ratio = max(0, r)
		if r == overlapped {
			m.Indexer = &Indexer{Heads: c.need("index_n_heads"), Dim: c.need("index_head_dim"),
				TopK: c.need("index_topk")}
		}
		s.mixers[kind] = &m
	}
	s.modules = map[string][]string{
		"q_a": {"attn.wq_a"}, "q_b": {"attn.wq_b"}, "kv": {"attn.wkv"}, "out_a": {"attn.wo_a"},
		"out_b": {"attn.wo_b"}, "index_q": {"attn.indexer.wq_b"},
		"expert_gate_up": {"ffn.experts.0.w1"}, "expert_down": {"ffn.experts.0.w2"},
		"shared_gate_up": {"ffn.shared_experts.w1"}, "shared_down": {"ffn.shared_experts.w2"},
	}
}

func compressedKind(ratio int) string {
	switch ratio {
	case 0:
		return "window"
	case overlapped:
		return "chosen"
	}
	return "compressed"
}

// readStep3 reads attention whose queries are compressed and whose one key and value serve all
// heads (Step-3, arXiv:2507.19427, section 3: multi-matrix factorization attention).
func readStep3(c *config, s *shape) {
	s.attention.QueryRank = c.count(s.attention.HeadDim, "share_q_dim")
	c.markRead("norm_expert_weight")
}

// readLongCat reads layers of two attentions and two MLPs, beside which experts run (LongCat-Flash,
// arXiv:2509.01322, section 2). Some experts pass tokens on as they are: the number of visited ones
// that compute is a token's average.
func readLongCat(c *config, s *shape) {
	routed, visited, identity := c.need("n_routed_experts"), c.need("moe_topk"),
		c.count(0, "zero_expert_num")
	if routed == 0 || identity > 1<<11 || visited > 1<<11 {
		c.fail("n_routed_experts: found %d, with %d that pass tokens on, and %d visited", routed,
			identity, visited)
		return
	}
	if kind := c.text("zero_expert_type"); identity > 0 && kind != "identity" {
		c.fail("zero_expert_type: found %q, want identity", kind)
	}
	experts := &MoE{
		Experts: routed, Identity: identity, Intermediate: c.need("expert_ffn_hidden_size"),
		Gated: true, RouterBias: true,
		Active: max(1, (visited*routed+(routed+identity)/2)/(routed+identity)),
	}
	dense := &Dense{Intermediate: s.intermediate, Gated: true}
	for range min(s.layers, maxLayers) {
		s.built = append(s.built,
			Group{Count: 1, Mixer: s.full(), MLP: dense, Norms: 2}, Group{Count: 1, MLP: experts},
			Group{Count: 1, Mixer: s.full(), MLP: dense, Norms: 2})
	}
	s.layers = len(s.built)
}

// readExaoneMoE reads which layers have experts where no list of words says so.
func readExaoneMoE(c *config, s *shape) {
	flags := c.list("is_moe_layer")
	if flags == nil || c.has("mlp_layer_types") {
		return
	}
	words := make([]any, len(flags))
	for i, f := range flags {
		if words[i] = "dense"; f == true {
			words[i] = "sparse"
		}
	}
	c.assume(fields{"mlp_layer_types": words})
}

// readAfmoe reads the number of first layers without experts (Trinity, Arcee AI 2025).
func readAfmoe(c *config, _ *shape) {
	c.assume(fields{"first_k_dense_replace": c.count(0, "num_dense_layers")})
	c.assume(fields{"sliding_window_pattern": c.count(4, "global_attn_every_n_layers")})
}

// readDBRX reads the heads and the experts from their sections.
func readDBRX(c *config, s *shape) {
	attention, experts := c.section("attn_config"), c.section("ffn_config")
	s.attention.KVHeads = attention.count(s.attention.KVHeads, "kv_n_heads")
	c.assume(fields{
		"moe_num_experts": experts.need("moe_num_experts"), "moe_top_k": experts.need("moe_top_k"),
		"moe_intermediate_size": experts.need("ffn_hidden_size"),
	})
	experts.markRead("moe_jitter_eps", "moe_loss_weight", "moe_normalize_expert_weights",
		"ffn_act_fn")
}

// readGrok reads experts beside an MLP in each layer (Grok-2). Another model, of images, has the
// same model_type.
func readGrok(c *config, s *shape) {
	if kinds := c.words("architectures"); len(kinds) != 1 || kinds[0] != "Grok1ForCausalLM" {
		c.fail("model_type \"git\" is known for Grok1ForCausalLM only")
	}
	c.values["sliding_window_size"] = nil
	if c.flag(false, "residual_moe") {
		c.assume(fields{"shared_expert_intermediate_size": s.intermediate})
	}
}
