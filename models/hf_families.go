package models

import (
	_ "embed" // the table of families
	"maps"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

//go:embed families.yaml
var familiesFile []byte

// family is a row of families.yaml, whose head says what its columns mean: what a model_type
// implies beyond the keys of its config.json.
type family struct {
	Types           []string
	Traits          []string
	Norms           int
	FourfoldMLP     bool `yaml:"fourfold_mlp"`
	BiasOfInputs    bool `yaml:"bias_of_inputs"`
	NoDenseMLP      bool `yaml:"no_dense_mlp"`
	HeadsFillHidden bool `yaml:"heads_fill_hidden"`
	Latent          bool
	Defaults        fields
	Flags           map[string][]string
	Only            fields
	Ignored         []string
	Code            string
}

// fields are values of config.json that are assumed where it is silent.
type fields = map[string]any

// families returns the families by model_type. They never change. Their file is part of the
// program, so a mistake in it is a bug, and families panics.
var families = sync.OnceValue(func() map[string]family {
	var rows []family
	if err := files.DecodeYAML(familiesFile, &rows); err != nil {
		panic("models: families.yaml: " + err.Error())
	}
	all := map[string]family{}
	for _, f := range rows {
		for _, name := range f.Types {
			all[name] = f
		}
	}
	return all
})

// readers has the code of the families that need some, by the column code.
var readers = map[string]func(*config, *shape){
	"Afmoe": readAfmoe, "Bailing": readBailing, "Bamba": readBamba, "ChatGLM": readChatGLM,
	"DBRX": readDBRX, "DeepSeekV4": readDeepSeekV4, "Ernie": readErnie,
	"ExaoneMoE": readExaoneMoE, "Falcon": readFalcon, "FalconH1": readFalconH1,
	"GatedDelta": readGatedDelta, "Gemma3": readGemma3, "Gemma4": readGemma4,
	"GraniteHybrid": readGraniteHybrid, "Grok": readGrok, "Hunyuan": readHunyuan,
	"KimiLinear": readKimiLinear, "LFM2": readLFM2, "Laguna": readLaguna,
	"LearnedPositions": readLearnedPositions,
	"LongCat":          readLongCat, "MPT": readMPT, "Mamba2": readMamba2, "MiMoV2": readMiMoV2,
	"MiniMaxM1": readMiniMaxM1, "MiniMaxM2": readMiniMaxM2, "MiniMaxM3": readMiniMaxM3,
	"NemotronH": readNemotronH, "NemotronNAS": readNemotronNAS, "OPT": readOPT, "Phi": readPhi,
	"Qwen1": readQwen1, "Step": readStep, "Step3": readStep3,
}

// shape returns what the family implies before a key is read.
func (f *family) shape() shape {
	s := shape{norms: f.Norms}
	traits := s.traits()
	for _, name := range f.Traits {
		*traits[name] = true
	}
	return s
}

// traits returns the fields that rows of families.yaml may set.
func (s *shape) traits() map[string]*bool {
	a := &s.attention
	return map[string]*bool{
		"gated": &s.gated, "parallel": &s.parallel, "mlp_bias": &s.mlpBias,
		"head_bias": &s.HeadBias, "norm_bias": &s.NormBias, "no_final_norm": &s.NoFinalNorm,
		"embedding_norm": &s.EmbeddingNorm, "qkv_bias": &a.QKVBias, "out_bias": &a.OutBias,
		"qk_norm": &a.QKNorm, "wide_qk_norm": &a.WideQKNorm, "output_gate": &a.OutputGate,
		"sinks": &a.Sinks, "no_rotary": &a.NoRotary, "relative_positions": &a.RelativePositions,
	}
}

// readFlags sets the traits that keys of the family give, and refuses values that are not modelled.
// Where a key is silent, a trait follows the row, and attention_bias does not change it.
func (s *shape) readFlags(c *config, f family) {
	base := f.shape()
	traits, implied := s.traits(), base.traits()
	for _, names := range f.Flags {
		for _, name := range names {
			*traits[name] = *implied[name]
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Flags)) {
		if !c.has(key) {
			continue
		}
		for _, name := range f.Flags[key] {
			*traits[name] = c.flag(false, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Only)) {
		switch want := f.Only[key].(type) {
		case bool:
			if c.flag(want, key) != want {
				c.fail("%s: found %v, but only %v is modelled", key, !want, want)
			}
		case int:
			if n := c.count(want, key); n != want {
				c.fail("%s: found %d, but only %d is modelled", key, n, want)
			}
		}
	}
	c.markRead(f.Ignored...)
}
