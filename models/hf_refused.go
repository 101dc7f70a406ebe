package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// refused are the model types that are known to be no decoder-only language models, or that layers
// of theirs are not modelled, and what they are.
var refused = map[string]string{
	"bert": "an encoder", "roberta": "an encoder", "xlm-roberta": "an encoder",
	"distilbert": "an encoder", "albert": "an encoder",
	"electra": "an encoder", "deberta": "an encoder", "deberta-v2": "an encoder",
	"modernbert": "an encoder", "nomic_bert": "an encoder",
	"mpnet": "an encoder", "new": "an encoder", "eurobert": "an encoder",
	"vit": "an encoder of images", "clip": "an encoder of images and texts",
	"siglip":  "an encoder of images and texts",
	"siglip2": "an encoder of images and texts", "dinov2": "an encoder of images",
	"swin":    "an encoder of images",
	"whisper": "an encoder and decoder of speech", "wav2vec2": "an encoder of speech",
	"hubert": "an encoder of speech",
	"t5":     "an encoder and decoder", "mt5": "an encoder and decoder",
	"umt5": "an encoder and decoder", "bart": "an encoder and decoder",
	"mbart": "an encoder and decoder", "pegasus": "an encoder and decoder",
	"marian":  "an encoder and decoder",
	"m2m_100": "an encoder and decoder", "led": "an encoder and decoder",
	"t5gemma": "an encoder and decoder",
	"rwkv":    "a recurrent network whose time mixing is not modelled",
	"rwkv5":   "a recurrent network whose time mixing is not modelled",
	"rwkv6":   "a recurrent network whose time mixing is not modelled",
	"rwkv7":   "a recurrent network whose time mixing is not modelled",
	"mamba":   "a Mamba-1 model, whose selective scan is not modelled (Mamba-2 is)",
	"jamba": "a hybrid with Mamba-1 layers, whose selective scan is not modelled " +
		"(Mamba-2 is)",
	"zamba": "a hybrid with Mamba-1 layers, whose selective scan is not modelled " +
		"(Mamba-2 is)",
	"zamba2": "a hybrid whose attention blocks share weights between layers, which is " +
		"not modelled",
	"lfm2":            "a hybrid with gated short convolutions, which are not modelled",
	"lfm2_moe":        "a hybrid with gated short convolutions, which are not modelled",
	"lfm2_vl":         "a hybrid with gated short convolutions, which are not modelled",
	"recurrent_gemma": "a hybrid with RG-LRU layers, which are not modelled",
	"gemma3n": "a model with embeddings for each layer and layers that share a cache, " +
		"which are not modelled",
	"gemma3n_text": "a model with embeddings for each layer and layers that share a cache, " +
		"which are not modelled",
	"mllama":            "a model with cross-attention to images, which is not modelled",
	"mllama_text_model": "a model with cross-attention to images, which is not modelled",
	"xlstm":             "a recurrent network whose layers are not modelled",
	"arctic": "a model with experts beside a dense network in each layer, which is " +
		"not modelled",
	"phi4mm": "a model whose adapters for images and speech change its weights with " +
		"the request, which is not modelled",
	"phi4_multimodal": "a model whose adapters for images and speech change its weights with " +
		"the request, which is not modelled",
	"phi4flash": "a hybrid with Mamba-1 layers and layers that share a cache, which are " +
		"not modelled",
	"phi3small": "a model with block-sparse attention of a fixed pattern, which is not " +
		"modelled",
	"falcon_mamba": "a Mamba-1 model, whose selective scan is not modelled (Mamba-2 is)",
	"plamo2": "a hybrid with Mamba-1 layers, whose selective scan is not modelled " +
		"(Mamba-2 is)",
	"ernie4_5_moe_vl": "a model with experts of two widths in a layer, which are not modelled",
	"ernie4_5_vl_moe": "a model with experts of two widths in a layer, which are not modelled",
	"bitnet":          "a model with weights of three values, whose kernels are not modelled",
	"openelm":         "a model whose heads differ from layer to layer, which is not modelled",
	"llada":           "a diffusion model, which does not decode token by token",
	"dream":           "a diffusion model, which does not decode token by token",
}

// refuseOtherModels fails for models that are not decoder-only language models, and for models
// whose layers are not modelled.
func (c *config) refuseOtherModels(modelType string) {
	if why, known := refused[strings.ToLower(modelType)]; known {
		c.fail("model_type %q is %s", modelType, why)
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
