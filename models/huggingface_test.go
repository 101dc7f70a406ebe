package models

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// read reads a config.json that must be right.
func read(t *testing.T, config string) (*Architecture, []string) {
	t.Helper()
	a, warnings, err := FromHuggingFace(strings.NewReader(config), "test")
	testkit.OK(t, err)
	return a, warnings
}

const llama = `"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008,
	"vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"`

// llamaWith returns the config of llama with more fields, which take the place of its own.
func llamaWith(fields string) string {
	base := llama
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(fields, -1) {
		base = regexp.MustCompile(`"`+m[1]+`": ("[^"]*"|[\d.]+),?`).ReplaceAllString(base, "")
	}
	return "{" + strings.TrimSuffix(strings.TrimSpace(base), ",") + fields + "}"
}

// What fields of all families mean, told by what they change in Llama-2-7B.
func TestFields(t *testing.T) {
	for config, change := range map[string]func(a *Architecture){
		``: func(*Architecture) {},
		`, "num_key_value_heads": null, "head_dim": null`: func(*Architecture) {},
		`, "num_key_value_heads": 8`: func(a *Architecture) {
			a.Attends().KVHeads = 8
		},
		`, "multi_query": true`: func(a *Architecture) {
			a.Attends().KVHeads = 1
		},
		`, "head_dim": 64`: func(a *Architecture) {
			a.Attends().HeadDim = 64
		},
		`, "hidden_size": 4096.0`: func(*Architecture) {},
		`, "tie_word_embeddings": true`: func(a *Architecture) {
			a.TiedEmbeddings = true
		},
		`, "attention_bias": true`: func(a *Architecture) {
			a.Attends().QKVBias, a.Attends().OutBias = true, true
		},
		`, "mlp_bias": true`: func(a *Architecture) {
			a.Groups[0].MLP.(*Dense).Bias = true
		},
		`, "torch_dtype": "bfloat16"`: func(a *Architecture) {
			a.DType = hardware.BF16
		},
		`, "quantization_config": {"quant_method": "awq", "bits": 4}`: func(a *Architecture) {
			a.DType = hardware.INT4
		},
		`, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false}`: func(a *Architecture) { a.DType = hardware.INT4 },
		`, "quantization_config": {"quant_method": "fp8"}`:                                                   func(a *Architecture) { a.DType = hardware.FP8 },
		`, "rope_scaling": {"type": "linear", "factor": 4}`:                                                  func(a *Architecture) { a.MaxContext = 16384 },
		`, "rope_scaling": {"rope_type": "llama3", "factor": 8}`:                                             func(*Architecture) {},
		`, "rope_parameters": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}`:  func(a *Architecture) { a.MaxContext = 8192 },
		`, "sliding_window": 1024`: func(a *Architecture) {
			a.Attends().Window = 1024
		},
		`, "sliding_window": 1024, "use_sliding_window": false`: func(*Architecture) {},
		`, "sliding_window": 1024, "max_window_layers": 28`: func(a *Architecture) {
			window(a, 1024, 28, 4)
		},
		`, "sliding_window": 1024, "max_window_layers": 40`: func(*Architecture) {},
		`, "sliding_window": 1024, "sliding_window_pattern": 4`: func(a *Architecture) {
			window(a, 1024, 0, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)
		},
		`, "sliding_window": 9, "sliding_window_pattern": "LG", "layer_types": [` +
			layerTypes(16, 16) + `]`: func(a *Architecture) { window(a, 9, 16, 16) },
		`, "sliding_window": 9, "layer_types": [` + layerTypes(32, 0) +
			`]`: func(*Architecture) {},
		`, "num_local_experts": 8, "num_experts_per_tok": 2`:                                                   func(a *Architecture) { a.Groups[0].MLP = &MoE{Experts: 8, Active: 2, Intermediate: 11008, Gated: true} },
		`, "num_local_experts": 8, "num_experts_per_tok": 2, "mlp_only_layers": [0, 0, 5, 99, -1, "x"]`:        func(a *Architecture) { sparse(a, 11008, 1, 4, 1, 26) },
		`, "num_experts": 8, "num_experts_per_tok": 2, "decoder_sparse_step": 2, "moe_intermediate_size": 512`: func(a *Architecture) { sparse(a, 512, slices.Repeat([]int{1}, 32)...) },
		`, "num_experts": 8, "first_k_dense_replace": 40, "num_experts_per_tok": 2`:                            func(*Architecture) {},
		`, "num_experts": 8, "num_experts_per_tok": 2, "moe_layers": [1, 3, 3]`:                                func(a *Architecture) { sparse(a, 11008, 1, 1, 1, 1, 28) },
		`, "kv_lora_rank": 512, "q_lora_rank": null, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128`: func(a *Architecture) {
			a.Groups[0].Mixer = &MLA{Heads: 32, KVRank: 512, RopeDim: 64, NopeDim: 128,
				ValueDim: 128}
		},
	} {
		want, _ := read(t, "{"+llama+"}")
		change(want)
		if m, ok := want.Groups[0].Mixer.(*MLA); ok { // tables reach to the longest context
			want.RotaryTables = int64(want.MaxContext * m.RopeDim)
		} else {
			want.RotaryTables = int64(want.MaxContext * want.Attends().HeadDim)
		}
		a, warnings := read(t, llamaWith(config))
		if diff := cmp.Diff(want, a); diff != "" || len(warnings) > 0 {
			t.Errorf("%s: warnings %q\n%s", config, warnings, diff)
		}
	}
}

// window gives layers of a a sliding window: groups of the given number of layers have none and the
// window in turn.
func window(a *Architecture, window int, counts ...int) {
	full, windowed := a.Groups[0], a.Groups[0]
	m := *a.Attends()
	m.Window = window
	windowed.Mixer = &m
	a.Groups = alternate(full, windowed, counts)
}

// sparse gives layers of a 2 of 8 experts: groups of the given number of layers have none and
// experts in turn.
func sparse(a *Architecture, width int, counts ...int) {
	experts := a.Groups[0]
	experts.MLP = &MoE{Experts: 8, Active: 2, Intermediate: width, Gated: true}
	a.Groups = alternate(a.Groups[0], experts, counts)
}

func alternate(one, other Group, counts []int) []Group {
	var gs []Group
	for _, n := range counts {
		if one.Count = n; n > 0 {
			gs = append(gs, one)
		}
		one, other = other, one
	}
	return gs
}

// layerTypes lists the given numbers of layers with full attention and with a window.
func layerTypes(full, windowed int) string {
	kinds := strings.Repeat(`"full_attention",`, full) + strings.Repeat(`"sliding_attention",`,
		windowed)
	return strings.TrimSuffix(kinds, ",")
}

// What was assumed or left out is told.
func TestWarnings(t *testing.T) {
	for config, want := range map[string]string{
		strings.Replace(llama, `, "torch_dtype": "float16"`, ``, 1): "torch_dtype is missing",
		llama + `, "flavour": 3`: "keys that are not known " +
			"and taken to change no cost: flavour",
	} {
		a, warnings := read(t, "{"+config+"}")
		if len(warnings) != 1 || !strings.Contains(warnings[0], want) ||
			a.Parameters().Total() != 6_738_415_616 {
			t.Errorf("%s: %d parameters, warnings %q, want %q", config, a.Parameters().Total(),
				warnings, want)
		}
	}
}

// fp8Blocks is a checkpoint in FP8 with a scale for each block of weights of a size.
func fp8Blocks(size string) string {
	return llamaWith(`, "quantization_config": {"quant_method": "fp8", "weight_block_size": ` +
		size + "}")
}

// Mistakes are refused with what was found, where, and what is right.
func TestMistakes(t *testing.T) {
	drop := func(field string) string { return strings.Replace(llama, field, "x_"+field, 1) }
	for config, want := range map[string]string{
		``:      "the file is empty",
		`[1]`:   "found a list, want a JSON object",
		`null`:  "found null, want a JSON object",
		"{\n,}": "line 2: invalid character",
		"{\n":   "line 2: the file ends inside the JSON object",
		"{}{}":  "found more after the JSON object",
		`{` + drop("hidden_size") +
			`}`: "hidden_size is missing (also known as n_embd, d_model, n_embed); is " +
			"x_hidden_size a misspelling of it?",
		`{` + drop("num_hidden_layers") +
			`}`: "num_hidden_layers is missing (also known as n_layer, n_layers, num_layers)",
		`{` + drop("intermediate_size") + `}`: "intermediate_size is missing",
		`{` + drop("max_position_embeddings") +
			`}`: "max_position_embeddings is missing",
		llamaWith(`, "hidden_size": -4096`):                              "hidden_size: found -4096, want a whole number",
		llamaWith(`, "hidden_size": 4096.5`):                             "hidden_size: found 4096.5, want a whole number",
		llamaWith(`, "hidden_size": 1e400`):                              "hidden_size: found 1e400, want a whole number",
		llamaWith(`, "hidden_size": "big"`):                              `hidden_size: found "big", want a whole number`,
		llamaWith(`, "hidden_size": [1, 2]`):                             "hidden_size: found a list, want a whole number",
		llamaWith(`, "hidden_size": 0`):                                  "hidden size: found 0, want 1 to 131072",
		llamaWith(`, "hidden_size": 99999968`):                           "hidden size: found 99999968, want 1 to 131072",
		llamaWith(`, "hidden_size": NaN`):                                `hidden_size: found "NaN", want a whole number`,
		llamaWith(`, "num_hidden_layers": 1000000000`):                   "layers: found 1000000000, want 1 to 1024",
		llamaWith(`, "num_attention_heads": 33`):                         "hidden size 4096 is not a multiple of the 33 heads, and head_dim is missing",
		llamaWith(`, "num_attention_heads": 0`):                          "heads: found 0 query",
		llamaWith(`, "num_key_value_heads": 5`):                          "KV heads: found 5, want a divisor of the 32 query heads",
		llamaWith(`, "tie_word_embeddings": 1`):                          "tie_word_embeddings: found 1, want true or false",
		llamaWith(`, "model_type": 7`):                                   "model_type: found 7, want a string",
		llamaWith(`, "rope_scaling": {"type": "linear", "factor": -1}`):  "rope_scaling: factor: found -1, want a number from 1",
		llamaWith(`, "rope_scaling": {"type": "linear", "factor": "x"}`): `rope_scaling: factor: found "x", want a number`,
		llamaWith(`, "layer_types": ["full_attention"]`):                 "layer_types: found 1 entries for 32 layers",
		llamaWith(`, "rope_scaling": "yarn"`):                            `rope_scaling: found "yarn", want an object`,
		llamaWith(`, "num_experts": 8`):                                  "num_experts_per_tok is missing",
		llamaWith(`, "num_experts": 8, "num_experts_per_tok": 9`):        "active experts: found 9, want at most the 8 experts",
		llamaWith(`, "kv_lora_rank": 512`):                               "qk_rope_head_dim is missing",
		llamaWith(`, "is_encoder_decoder": true`):                        "only decoder-only models are known",
		llamaWith(`, "mamba_d_state": 128`):                              "the key mamba_d_state (found 128) is not understood, and may change what is stored or computed",
		`{` + llama + `, "x": "` + strings.Repeat("x", maxConfigBytes) +
			`"}`: "more than 16777216 bytes",
		"{" + llama + `, "hidden_size": 4096}`:                                     `line 2: the key "hidden_size" is given twice`,
		llamaWith(`, "n_embd": 2048`):                                              "hidden_size is 4096, but n_embd is 2048",
		"{" + strings.Replace(llama, `"float16"`, `"float4"`, 1) + "}":             `torch_dtype: found "float4", want float16, bfloat16, float32`,
		fp8Blocks(`[0, 128]`):                                                      "weight_block_size: found [0 128], want two numbers of weights, 1",
		fp8Blocks(`[128, -1]`):                                                     "weight_block_size: found [128 -1], want two",
		fp8Blocks(`[128]`):                                                         "weight_block_size: found [128], want two",
		llamaWith(`, "model_type": "llam"`):                                        `model_type "llam" is not known (known are llama`,
		llamaWith(`, "model_type": "bert"`):                                        `model_type "bert" is an encoder`,
		llamaWith(`, "model_type": "rwkv6"`):                                       `model_type "rwkv6" is a recurrent network`,
		llamaWith(`, "num_memory_layers": 4`):                                      "the key num_memory_layers (found 4) is not understood",
		llamaWith(`, "quantization_config": {"quant_method": "new"}`):              `quant_method: found "new", want fp8, `,
		llamaWith(`, "quantization_config": {"quant_method": "gptq", "bits": 7}`):  "bits: found 7, want 2, 3, 4, 5, 6 or 8",
		llamaWith(`, "model_type": "qwen2", "head_dim": 100`):                      "head_dim: 32 heads of 100 are 3200 wide, but hidden_size is 4096",
		"{" + llama + `, "vision_config": {"hidden_size": 1024}}`:                  "vision_config: num_hidden_layers is missing",
		`{"text_config": {"model_type": "llama"}, "vision_config": {"x": "long"}}`: "num_hidden_layers is missing",
	} {
		_, _, err := FromHuggingFace(strings.NewReader(config), "my.json")
		if err == nil || !strings.HasPrefix(err.Error(), "my.json: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.200s:\n got %v\nwant %s", config, err, want)
		}
	}
}

// Whatever the file says, the reader returns an error or an architecture that makes sense.
func FuzzFromHuggingFace(f *testing.F) {
	f.Add("{" + llama + "}")
	f.Add(`{"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 9, "max_seq_len": 7, "attn_config": {"kv_n_heads": 2}}`)
	f.Add("{" + llama + `, "kv_lora_rank": 1, "qk_rope_head_dim": 1, "qk_nope_head_dim": 1, "v_head_dim": 1, "num_experts": 3, "num_experts_per_tok": 1}`)
	f.Add("{" + llama + `, "sliding_window": 5, "rope_scaling": {"type": "yarn", "factor": 1e5}, "text_config": {}, "mlp_only_layers": [1, {}]}`)
	f.Fuzz(func(t *testing.T, config string) {
		var a *Architecture
		var err error
		testkit.Bounded(t, len(config),
			func() { a, _, err = FromHuggingFace(strings.NewReader(config), "fuzz") })
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		p := a.Parameters()
		if p.Total() <= 0 || a.ActiveParameters().Total() > p.Total() ||
			a.WeightBytes(hardware.FP32) <= 0 {
			t.Fatalf("%+v has %+v", a, p)
		}
		if one, two := a.KVBytesOfSequence(1, hardware.BF16, 1),
			a.KVBytesOfSequence(2, hardware.BF16, 1); one <= 0 || two < one {
			t.Fatalf("%+v stores %d bytes for a token and %d for two", a, one, two)
		}
	})
}

// An expression names the same modules however it is compiled.
func TestExpressionsMatchFromTheStart(t *testing.T) {
	pieces := []string{".*", ".*?", ".+", "|", "(", ")", "^", "$", "model", "layers\\.\\d+", "mlp",
		"\\.", "(gate|up)_proj", "_proj", "[a-z]", "?"}
	names := []string{"", "mlp", "layers.3.mlp.gate_proj", "model.layers.12.mlp.up_proj",
		"model.language_model.layers.0.self_attn.q_proj", "lm_head"}
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "source"),
			"")
		plain, wrong := regexp.Compile("^(?:" + source + ")")
		fast, err := compile(source)
		if (err != nil) != (wrong != nil) {
			t.Fatalf("%v, want %v", err, wrong)
		}
		for _, name := range names {
			if err == nil && fast.MatchString(name) != plain.MatchString(name) {
				t.Errorf("%q: %t", name, !plain.MatchString(name))
			}
		}
	})
}
