package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// refused names kinds of models that are not decoder-only language models, or whose layers
// are not modelled, with their model types.
var refused = map[string][]string{
	"an encoder": {"bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta",
		"deberta-v2", "modernbert", "nomic_bert", "mpnet", "new", "eurobert"},
	"an encoder of images":             {"vit", "dinov2", "swin"},
	"an encoder of images and texts":   {"clip", "siglip", "siglip2"},
	"an encoder and decoder of speech": {"whisper"},
	"an encoder of speech":             {"wav2vec2", "hubert"},
	"an encoder and decoder": {"t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian",
		"m2m_100", "led", "t5gemma"},
	"a recurrent network whose time mixing is not modelled": {"rwkv", "rwkv5", "rwkv6", "rwkv7"},
	"a Mamba-1 model, whose selective scan is not modelled (Mamba-2 is)": {"mamba",
		"falcon_mamba"},
	"a hybrid with Mamba-1 layers, whose selective scan is not modelled (Mamba-2 is)": {"jamba",
		"zamba", "plamo2"},
	"a hybrid whose attention blocks share weights between layers, which is not modelled": {
		"zamba2"},
	"a hybrid with RG-LRU layers, which are not modelled": {"recurrent_gemma"},
	"a model with embeddings for each layer and layers that share a cache, which are not " +
		"modelled": {"gemma3n", "gemma3n_text"},
	"a model with cross-attention to images, which is not modelled": {"mllama",
		"mllama_text_model"},
	"a recurrent network whose layers are not modelled":                                {"xlstm"},
	"a model with experts beside a dense network in each layer, which is not modelled": {"arctic"},
	"a model whose adapters for images and speech change its weights with the request, " +
		"which is not modelled": {"phi4mm", "phi4_multimodal"},
	"a hybrid with Mamba-1 layers and layers that share a cache, which are not modelled": {
		"phi4flash"},
	"a model with block-sparse attention of a fixed pattern, which is not modelled": {"phi3small"},
	"a model with experts of two widths in a layer, which are not modelled": {"ernie4_5_moe_vl",
		"ernie4_5_vl_moe"},
	"a model with weights of three values, whose kernels are not modelled":  {"bitnet"},
	"a model whose heads differ from layer to layer, which is not modelled": {"openelm"},
	"a diffusion model, which does not decode token by token":               {"llada", "dream"},
}

// refuseOtherModels fails for models that are not decoder-only language models, and for models
// whose layers are not modelled.
func (c *config) refuseOtherModels(modelType string) {
	for why, types := range refused {
		if slices.Contains(types, strings.ToLower(modelType)) {
			c.fail("model_type %q is %s", modelType, why)
		}
	}
	if c.flag(false, "is_encoder_decoder") {
		c.fail("is_encoder_decoder: found true, but only decoder-only models are known")
	}
}

// unknownType says that a model_type is not known, and which known ones look like it.
func unknownType(modelType string) string {
	if modelType == "" {
		return "model_type is missing"
	}
	message := fmt.Sprintf("model_type %q is not known", modelType)
	if near := nearest.Names(modelType, knownTypes()); len(near) > 0 {
		message += " (known are " + strings.Join(near, ", ") + ")"
	}
	return message + ": what its layers are would have to be known"
}

// knownTypes lists the model types that are read.
func knownTypes() []string { return slices.Sorted(maps.Keys(families())) }
