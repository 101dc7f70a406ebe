package scenarios

import (
	"cmp"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// bytes returns the memory in bytes that the drafter takes on each accelerator of a replica: for
// its weights, and for each token of its cache.
func (d *drafting) bytes(c *deployment.Config) (weights, kv float64) {
	sp, a, tp := &d.written, d.model, max(1, c.Parallel.Tensor)
	wide := float64(2 * c.Model.Hidden)
	head := func(vocabulary int) float64 { return wide * float64((vocabulary+tp-1)/tp) }
	format := d.weights(c)
	switch sp.Method {
	case "draft-model":
		if sp.Accelerator != "" {
			return 0, 0
		}
		tp = cmp.Or(sp.Tensor, tp)
		weights = float64(a.WeightBytesPerGPU(format, tp, 1))
	case "eagle", "mtp":
		two := *a
		two.Groups = slices.Concat(a.Groups, a.Groups)
		weights = float64(two.WeightBytesPerGPU(format, tp, 1) - a.WeightBytesPerGPU(format, tp, 1))
		if ranks := float64(c.Parallel.Data); ranks > 1 { // each has a part of the experts
			experts := two.ExpertBytesPerGPU(format, tp, 1) - a.ExpertBytesPerGPU(format, tp, 1)
			weights -= float64(experts) * (1 - 1/ranks)
		}
		if sp.Vocabulary > 0 {
			weights += head(sp.Vocabulary)
		}
	case "medusa":
		return float64(sp.Tokens) * (head(c.Model.Vocab) + wide*float64(c.Model.Hidden)), 0
	default:
		return 0, 0
	}
	return weights, float64(a.KVBytesPerTokenPerGPU(c.KV, tp))
}

// weights is the number format of the drafter's weights: a prediction module and skipped layers are
// part of the model, EAGLE heads are published in 16 bits.
func (d *drafting) weights(c *deployment.Config) hardware.DType {
	switch d.written.Method {
	case "draft-model":
		return hardware.DType(cmp.Or(d.written.Weights, string(d.model.DType)))
	case "mtp", "layer-skip":
		return c.Weights
	}
	if c.Model.DType == hardware.FP16 {
		return hardware.FP16
	}
	return hardware.BF16
}
