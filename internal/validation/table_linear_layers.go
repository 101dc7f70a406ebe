package validation

import (
	"context"
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

// linearLayers is the products and element-wise kernels of a step.
type linearLayers struct {
	deployment
	place
	tokens   int
	measured []measurement
}

func readLinearLayers(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), r.required("gpu"), orElse(r.text("dtype"), "fp16"),
			r.count("tp"))
		l := &linearLayers{deployment: d, tokens: r.count("num_tokens"),
			measured: r.measured(linearLayerFigures)}
		if r.err != nil {
			return
		}
		l.place = place{Group: d.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%d tokens", l.tokens)}
		list = append(list, l)
	})
	return list
}

func (l *linearLayers) at() place { return l.place }

// compare implements experiment.
func (l *linearLayers) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	k, err := l.kernels(p, libraryAllReduce)
	if err != nil {
		return nil, err
	}
	t := k.times(prefill(1, l.tokens, 0))
	layers := float64(l.model.Layers())
	predicted := map[string]float64{
		"GEMMs a layer":        t.layerLinear() / layers,
		"element-wise a layer": t.elementwise() / layers,
		"linear":               t.layerLinear() + t.elementwise(),
	}
	for _, name := range []string{"qkv", "out", "gate_up", "down"} {
		if ms := t[name]; ms > 0 {
			predicted[name] = ms / layers
		}
	}
	return l.place.compare(l.measured, predicted), nil
}
