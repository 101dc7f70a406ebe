package validation

import (
	"fmt"
)

// The kernels of one layer, measured apart with random data; iter_linear_ms is their sum over all
// layers.
var linearLayerColumns = []string{"gpu", "model", "tp", "num_tokens", "gemm_ms_per_layer",
	"elementwise_ms_per_layer", "iter_linear_ms"}

var linearLayerFigures = []figure{
	{"attn_pre_proj_ms", "qkv", "ms", 1}, {"attn_post_proj_ms", "out", "ms", 1},
	{"mlp_up_proj_ms", "gate_up", "ms", 1}, {"mlp_down_proj_ms", "down", "ms", 1},
	{"gemm_ms_per_layer", "GEMMs a layer", "ms", 1},
	{"elementwise_ms_per_layer", "element-wise a layer", "ms", 1},
	{"iter_linear_ms", "linear", "ms", 1},
}

var linearLayerRows = rowSpec{
	model: "model", gpu: "gpu", dtype: "dtype|=fp16", tensor: "tp", figures: linearLayerFigures,
	describe: func(_ *catalogs, r *row, t *trial) string {
		tokens := r.count("num_tokens")
		t.inKernels(libraryAllReduce, prefill(1, tokens, 0),
			func(k kernelTimes) map[string]float64 {
				layers := float64(t.model.Layers())
				predicted := map[string]float64{
					"GEMMs a layer":        k.layerLinear() / layers,
					"element-wise a layer": k.elementwise() / layers,
					"linear":               k.layerLinear() + k.elementwise(),
				}
				for _, name := range []string{"qkv", "out", "gate_up", "down"} {
					if ms := k[name]; ms > 0 {
						predicted[name] = ms / layers
					}
				}
				return predicted
			})
		t.Name = fmt.Sprintf("%d tokens", tokens)
		return ""
	},
}
