package validation

import (
	"fmt"
	"path"
	"strings"
)

// Linear layers and the all-reduces of an iteration, by the network that joins the GPUs. The file's
// name states the model: linear_and_allreduce_MODEL.csv.
var linearAllReduceColumns = []string{"gpu", "network", "tp", "num_tokens", "linear_ms",
	"allreduce_iter_ms", "iter_no_attn_ms"}

var linearAllReduceFigures = []figure{
	{"linear_ms", "linear", "ms", 1}, {"gemm_ms", "GEMMs", "ms", 1},
	{"allreduce_one_ms", "one all-reduce", "ms", 1}, {"allreduce_iter_ms", "all-reduces", "ms", 1},
	{"iter_no_attn_ms", "iteration", "ms", 1},
}

func readLinearAllReduce(c *catalogs, t *table) []experiment {
	base := strings.TrimSuffix(path.Base(t.file), path.Ext(t.file))
	_, model := splitLast(base, "_")
	return trials(rowSpec{
		model: "model|=" + model, gpu: "gpu", dtype: "dtype|=fp16", tensor: "tp",
		figures: linearAllReduceFigures, describe: describeLinearAllReduce,
	})(c, t)
}

func describeLinearAllReduce(c *catalogs, r *row, t *trial) string {
	network, tokens := r.required("network"), r.count("num_tokens")
	if r.err == nil && strings.Contains(network, "pairwise") {
		r.fail(t.joinPairs(c))
	}
	t.inKernels(launchedAllReduce, prefill(1, tokens, 0), func(k kernelTimes) map[string]float64 {
		linear, allReduces := k.layerLinear()+k.elementwise(), k.allReduces(t.model)
		return map[string]float64{
			"linear": linear, "GEMMs": k.layerLinear(), "all-reduces": allReduces,
			"iteration":      linear + allReduces,
			"one all-reduce": allReduces / float64(t.model.AllReduces()-1),
		}
	})
	t.Name = fmt.Sprintf("%s, %d tokens", network, tokens)
	return ""
}

// joinPairs lets a bridge join the GPUs in pairs, and the host's PCIe the pairs.
func (d *deployment) joinPairs(c *catalogs) error {
	pcie, err := c.hardware.Link(d.accelerator.HostLink)
	if err != nil {
		return err
	}
	d.accelerator.PerNode, d.network = 2, &pcie
	return nil
}
