package validation

import (
	"context"
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

type linearAllReduce struct{ linearLayers }

func readLinearAllReduce(c *catalogs, t *table) []experiment {
	base := strings.TrimSuffix(path.Base(t.file), path.Ext(t.file))
	_, model := splitLast(base, "_")
	var list []experiment
	t.each(func(r *row) {
		network := r.required("network")
		d := c.deploy(r, orElse(r.text("model"), model), r.required("gpu"),
			orElse(r.text("dtype"), "fp16"), r.count("tp"))
		l := &linearAllReduce{
			linearLayers{deployment: d, tokens: r.count("num_tokens"),
				measured: r.measured(linearAllReduceFigures)}}
		if r.err == nil && strings.Contains(network, "pairwise") {
			r.fail(l.joinPairs(c))
		}
		if r.err != nil {
			return
		}
		l.place = place{Group: d.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%s, %d tokens", network, l.tokens)}
		list = append(list, l)
	})
	return list
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

// compare implements experiment.
func (l *linearAllReduce) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	k, err := l.kernels(p, launchedAllReduce)
	if err != nil {
		return nil, err
	}
	t := k.times(prefill(1, l.tokens, 0))
	linear, allReduces := t.layerLinear()+t.elementwise(), t.allReduces(l.model)
	return l.place.compare(l.measured, map[string]float64{
		"linear": linear, "GEMMs": t.layerLinear(), "all-reduces": allReduces, "iteration": linear +
			allReduces,
		"one all-reduce": allReduces / float64(l.model.AllReduces()-1),
	}), nil
}
