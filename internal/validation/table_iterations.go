package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Whole iterations without output head, sampling and host: kernels measured apart and summed.
func iterationRow(_ *catalogs, r *row, t *trial) string {
	phase, batch, tokens, kv := r.required("phase"), r.batch("batch"), r.count("tokens"),
		r.whole("kv", 0)
	var step *sim.Step
	switch phase {
	case "decode":
		step = decode(batch, kv)
	case "prefill":
		step = prefill(batch, max(1, tokens/max(1, batch)), kv)
	default:
		r.fail(fmt.Errorf("phase: found %q, want decode or prefill", phase))
	}
	t.inKernels(launchedAllReduce, step, func(k kernelTimes) map[string]float64 {
		linear, attention, allReduce := k.layerLinear()+k.elementwise(), k.attention(),
			k.allReduces(t.model)
		return map[string]float64{"linear": linear, "attention": attention,
			"all-reduce": allReduce, "iteration": linear + attention + allReduce}
	})
	t.Name = fmt.Sprintf("%s batch %d, %d tokens, %d cached", phase, batch, tokens, kv)
	return ""
}
