package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// Linear layers and the all-reduces of an iteration, by the network that joins the GPUs.
func linearAllReduceRow(c *catalogs, r *row, t *trial) string {
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

// The kernels of one layer, measured apart with random data; iter_linear_ms is their sum over all
// layers.
func linearLayerRow(_ *catalogs, r *row, t *trial) string {
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
}

// message_size is in elements of 2 bytes.
// customAllReduce reads vLLM's own all-reduce. Rows without a captured graph measure how fast
// the host launches it, and are left out.
func customAllReduce(r *row) (*operator, *sim.Step) {
	if why := r.ruled("refuse"); why != "" {
		r.table.leave(r, why)
		return nil, nil
	}
	return allReduceOf(r, engineAllReduce), decode(1, 1)
}

// readNCCL reads the all-reduce of NCCL. Such tables may have several rows for a size, of
// collectives that they do not name: the slowest is the all-reduce, which sends twice what a
// reduce-scatter or an all-gather does.
func readNCCL(c *catalogs, t *table) []*trial {
	list := operators(func(r *row) (*operator, *sim.Step) {
		return allReduceOf(r, libraryAllReduce), decode(1, 1)
	})(c, t)
	for _, x := range list {
		slowest := slices.MaxFunc(x.parts,
			func(a, b part) int { return cmp.Compare(a.measured[0].Value, b.measured[0].Value) })
		for range x.parts[1:] {
			t.skip("another collective of the same size, faster than the all-reduce")
		}
		x.place, x.parts = slowest.place, []part{slowest}
	}
	return list
}

// allReduceOf describes an all-reduce as part of a step of one token, whose hidden vector is the
// message.
func allReduceOf(r *row, kind allReduceKind) *operator {
	gpus, elements := r.batch("num_gpus"), r.count("message_size")
	if r.err == nil && gpus < 2 {
		r.fail(fmt.Errorf("num_gpus: found %d, want 2 or more", gpus))
	}
	o := &operator{names: []string{"all_reduce"}, allReduce: kind,
		shape: fmt.Sprintf("%d GPUs, %d elements", gpus, elements), variant: "all-reduce"}
	o.Parallelism.Tensor = gpus
	o.model = oneLayer("all-reduce", elements, gpus, gpus, 1)
	o.model.Groups[0].Parallel = true
	o.runs = o.model.AllReduces()
	return o
}
