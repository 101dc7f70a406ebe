package models

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// Checkpoint has the files that are published beside the weights of a model.
type Checkpoint struct {
	// Config is config.json, of at most 16 MiB. Quantisation is hf_quant_config.json; nil without
	// one.
	Config, Quantisation io.Reader
	// Assume is the model_type as which a config of an unknown type is read: "llama", or empty to
	// refuse it.
	Assume string
}

// FromHuggingFace reads the config.json of a Hugging Face model; see Checkpoint.Read.
func FromHuggingFace(r io.Reader, name string) (a *Architecture, warnings []string, err error) {
	return Checkpoint{Config: r}.Read(name)
}

// Read reads the files of a checkpoint, in any of the spellings that the families use. The name
// becomes the architecture's, and begins each error; the name of a model which is read as what it
// is not says so. Warnings tell what was assumed.
//
// It returns an error for a field that is missing, naming it and its known spellings; for a key
// that is not understood and may change a cost; for numbers that contradict each other or make no
// sense; for a model type that is not known; and for models that are not decoder-only.
func (p Checkpoint) Read(name string) (a *Architecture, warnings []string, err error) {
	values, err := decodeObject(p.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	c := newConfig(values)
	var quantised *config
	if p.Quantisation != nil {
		beside, err := decodeObject(p.Quantisation)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: hf_quant_config.json: %w", name, err)
		}
		quantised = newConfig(beside)
	}
	a = c.architecture(p.Assume, quantised)
	a.Name = name
	if c.err == nil {
		c.err = a.Validate()
	}
	if c.err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, c.err)
	}
	return a, c.warnings, nil
}

// textModel returns the fields of the language model: c itself, or a section of it that takes over
// what it lacks.
func (c *config) textModel() *config {
	for _, name := range textSections {
		inner := c.section(name)
		if len(inner.values) == 0 {
			continue
		}
		for _, shared := range []string{"tie_word_embeddings", "torch_dtype", "dtype",
			"quantization_config"} {
			if v, ok := c.values[shared]; ok {
				inner.assume(map[string]any{shared: v})
				c.markRead(shared)
			}
		}
		return inner.textModel()
	}
	return c
}

// architecture reads the shape.
func (c *config) architecture(assume string, quantised *config) *Architecture {
	text := c.textModel()
	modelType := text.text("model_type")
	if modelType == "" {
		modelType = c.text("model_type")
	}
	c.refuseOtherModels(modelType)
	f, known := families()[modelType]
	note := ""
	if !known {
		if assume != "llama" {
			c.fail("%s; or shape.assume: llama reads it as a Llama-like model",
				unknownType(modelType))
			return &Architecture{}
		}
		f, note = families()["llama"],
			fmt.Sprintf("model_type %q is not known: read as a Llama-like model (RMSNorm, "+
				"gated MLP)", modelType)
	}
	text.assume(f.Defaults)
	s := f.shape()
	s.Family = modelType
	s.Source = "config.json"
	s.readSizes(text, f)
	s.readHeads(text, f)
	s.readMLA(text)
	s.readFlags(text, f)
	if read := readers[f.Code]; read != nil {
		read(text, &s)
	}
	if s.built == nil {
		s.readMoE(text)
		s.readMixers(text)
	}
	for wrapper := text; wrapper != nil; wrapper = wrapper.outer {
		s.readTowers(wrapper)
	}
	s.readRotary(text)
	s.readPredictors(text)
	layers := s.layOut(text)
	a := s.quantise(text, layers, quantised)
	text.checkKeys()
	for wrapper := text.outer; wrapper != nil; wrapper = wrapper.outer {
		wrapper.checkWrapper(text)
	}
	if note != "" {
		c.top().warn("%s", note)
	}
	return a
}

// readSizes reads what all models have.
func (s *shape) readSizes(c *config, f family) {
	counts := []string{"num_hidden_layers", "n_layer", "n_layers", "num_layers"}
	if _, _, found := c.find(counts...); !found {
		s.layers = len(c.list("layers_block_type")) // Nemotron-3-Ultra lists layers alone
	}
	if s.layers == 0 {
		s.layers = c.need(counts...)
	}
	if s.layers > maxLayers {
		c.fail("layers: found %d, want 1 to %d", s.layers, maxLayers)
	}
	s.Hidden = c.need("hidden_size", "n_embd", "d_model", "n_embed")
	s.Vocab = c.need("vocab_size", "padded_vocab_size")
	s.intermediate = c.intermediate(f, s.Hidden)
	s.MaxContext = c.maxContext()
	s.TiedEmbeddings = c.flag(false, "tie_word_embeddings")
	if c.has("attention_bias") {
		s.attention.QKVBias = c.flag(false, "attention_bias")
		s.attention.OutBias = s.attention.QKVBias && !f.BiasOfInputs
	}
	s.mlpBias = c.flag(s.mlpBias, "mlp_bias")
	s.DType = c.tensorType()
}

// intermediate returns the width of the MLP: where it is silent, four times the hidden size in
// families that say so.
func (c *config) intermediate(f family, hidden int) int {
	spellings := []string{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ffn_size",
		"inner_hidden_size", "block_ff_dim"}
	switch {
	case f.FourfoldMLP:
		return c.count(4*hidden, spellings...)
	case f.NoDenseMLP:
		return c.count(0, spellings...)
	}
	return c.need(spellings...)
}

// maxContext returns the longest context, stretched where rotary positions are. Kinds of stretching
// whose base length is already the long one (llama3, longrope) change nothing; yarn counts from the
// original length, but never makes less of it.
func (c *config) maxContext() int {
	spellings := []string{"max_position_embeddings", "n_positions", "max_sequence_length",
		"seq_length", "max_seq_len", "n_ctx", "model_max_length"}
	if _, _, found := c.find(spellings...); !found {
		c.failMissing(spellings)
	}
	context := c.firstCount(0, spellings...)
	scaling := c.section("rope_scaling", "rope_parameters")
	factor, longest := scaling.number(1, "factor"), 0
	switch kind := scaling.text("rope_type", "type"); kind {
	case "linear", "dynamic":
	case "yarn":
		if scaling.has("original_max_position_embeddings") {
			longest, context = context, scaling.count(context, "original_max_position_embeddings")
		}
	default:
		factor = 1
	}
	if !(factor >= 1 && factor <= 1e6) {
		scaling.fail("factor: found %v, want a number from 1 to 1,000,000", factor)
		return context
	}
	return max(int(float64(context)*factor), longest)
}

// tensorType returns the number format of the tensors that are not quantised.
func (c *config) tensorType() hardware.DType {
	switch name := c.text("torch_dtype", "dtype"); strings.TrimPrefix(name, "torch.") {
	case "float16", "half":
		return hardware.FP16
	case "bfloat16":
		return hardware.BF16
	case "float32", "float":
		return hardware.FP32
	case "float8_e4m3fn":
		return hardware.FP8
	case "":
		if !c.has("quantization_config") {
			c.warn("torch_dtype is missing: taken as bfloat16")
		}
	default:
		c.fail("torch_dtype: found %.40q, want float16, bfloat16, float32 or float8_e4m3fn", name)
	}
	return hardware.BF16
}
