package models

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// FromHuggingFace reads the config.json of a Hugging Face model of at most 1 MiB, in any of the spellings that the families
// of familyOf use. The name becomes the architecture's, and begins each error. Warnings tell what was assumed: of a family
// that is not known, whose fields are read as Llama's, and of parts that are left out, such as a vision tower.
//
// It returns an error for a field that is missing, naming it and its known spellings, for sizes that make no sense, and for
// models that are not decoder-only transformers.
func FromHuggingFace(r io.Reader, name string) (a *Architecture, warnings []string, err error) {
	c, err := readConfig(r)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	c.enterTextModel()
	a = c.architecture()
	a.Name = name
	if c.err == nil {
		c.err = a.Validate()
	}
	if c.err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, c.err)
	}
	return a, c.warnings, nil
}

// enterTextModel replaces the fields of a model of several modes by those of its language model, where they are apart.
func (c *config) enterTextModel() {
	for _, name := range []string{"vision_config", "audio_config"} {
		if len(c.section(name).values) > 0 {
			c.warn("only the language model is counted, not what %s describes", name)
		}
	}
	for _, name := range []string{"text_config", "llm_config", "language_config"} {
		inner := c.section(name)
		if len(inner.values) == 0 {
			continue
		}
		for _, shared := range []string{"tie_word_embeddings", "torch_dtype", "dtype", "quantization_config"} {
			if v, ok := c.values[shared]; ok {
				inner.assume(map[string]any{shared: v})
			}
		}
		c.values = inner.values
		return
	}
}

// architecture reads the shape.
func (c *config) architecture() *Architecture {
	modelType := c.text("model_type")
	f, known := familyOf(modelType)
	if !known {
		c.warn("model_type %q is not known: read as a Llama-like model (RMSNorm, gated MLP)", modelType)
	}
	c.refuseOtherModels()
	c.assume(f.defaults)
	s := f.base
	s.Family = modelType
	s.Source = "config.json"
	s.layers = c.need("num_hidden_layers", "n_layer", "n_layers", "num_layers")
	if s.layers > maxLayers {
		c.fail("layers: found %d, want 1 to %d", s.layers, maxLayers)
	}
	s.Hidden = c.need("hidden_size", "n_embd", "d_model", "n_embed")
	s.Vocab = c.need("vocab_size", "padded_vocab_size")
	s.intermediate = c.intermediate(f, s.Hidden)
	s.MaxContext = c.maxContext()
	s.TiedEmbeddings = c.flag(false, "tie_word_embeddings")
	if _, _, found := c.find("attention_bias"); found {
		s.attention.QKVBias = c.flag(false, "attention_bias")
		s.attention.OutBias = s.attention.QKVBias
	}
	s.mlpBias = c.flag(s.mlpBias, "mlp_bias")
	s.DType = c.dtype()
	c.readHeads(&s)
	c.readMLA(&s)
	if f.read != nil {
		f.read(c, &s)
	}
	c.readMoE(&s)
	c.readWindow(&s)
	return s.layOut()
}

// refuseOtherModels fails for models that are not decoder-only transformers.
func (c *config) refuseOtherModels() {
	if c.flag(false, "is_encoder_decoder") {
		c.fail("is_encoder_decoder: found true, but only decoder-only models are known")
	}
	for _, name := range []string{"ssm_cfg", "mamba_d_state", "state_size", "ssm_state_size", "layers_block_type",
		"hybrid_override_pattern", "linear_num_value_heads"} {
		if _, _, found := c.find(name); found {
			c.fail("%s: state-space and linear-attention layers are not known, only softmax attention", name)
		}
	}
}

// intermediate returns the width of the MLP: where it is silent, four times the hidden size in families that say so.
func (c *config) intermediate(f family, hidden int) int {
	spellings := []string{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ffn_size", "inner_hidden_size"}
	if f.fourfoldMLP {
		return c.count(4*hidden, spellings...)
	}
	return c.need(spellings...)
}

// maxContext returns the longest context, stretched where rotary positions are. Kinds of stretching whose base length is
// already the long one (llama3, longrope) change nothing; yarn counts from the original length.
func (c *config) maxContext() int {
	context := c.need("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len", "n_ctx", "model_max_length")
	scaling := c.section("rope_scaling", "rope_parameters")
	factor := scaling.number(1, "factor")
	switch kind := scaling.text("rope_type", "type"); kind {
	case "linear", "dynamic":
	case "yarn":
		context = scaling.count(context, "original_max_position_embeddings")
	default:
		factor = 1
	}
	if !(factor >= 1 && factor <= 1e6) {
		scaling.fail("factor: found %v, want a number from 1 to 1,000,000", factor)
		return context
	}
	return int(float64(context) * factor)
}

// dtype returns the number format of the weights: that of their quantisation, or else of the tensors.
func (c *config) dtype() hardware.DType {
	quantised := c.section("quantization_config")
	method := quantised.text("quant_method")
	bits := quantised.count(4, "bits")
	switch {
	case method == "fp8":
		return hardware.FP8
	case method == "mxfp4":
		return hardware.FP4
	case method == "gptq" || method == "awq":
		if bits == 8 {
			return hardware.INT8
		}
		return hardware.INT4
	case method != "":
		c.warn("quantization_config: quant_method %q is not known: the weights are taken as the tensors' type", method)
	}
	switch name := c.text("torch_dtype", "dtype"); strings.TrimPrefix(name, "torch.") {
	case "float16":
		return hardware.FP16
	case "bfloat16":
		return hardware.BF16
	case "float32":
		return hardware.FP32
	case "float8_e4m3fn":
		return hardware.FP8
	case "":
		c.warn("torch_dtype is missing: taken as float16")
	default:
		c.warn("torch_dtype %.40q is not known: taken as float16", name)
	}
	return hardware.FP16
}
