package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// message_size is in elements of 2 bytes.
var allReduceColumns = []string{"num_gpus", "message_size", "latency"}

// readCustomAllReduce reads vLLM's own all-reduce. Rows without a captured graph measure how fast
// the host launches it, and are left out.
func readCustomAllReduce(c *catalogs, t *table) []experiment {
	return readOperators(c, t, func(r *row) (*operator, *sim.Step) {
		if strings.Contains(r.text("kernel_source")+r.text("backend"), "eager") {
			t.skip("launched by the host, not from a graph")
			return nil, nil
		}
		return allReduceOf(r, engineAllReduce), decode(1, 1)
	})
}

// readNCCL reads the all-reduce of NCCL. Such tables may have several rows for a size, of
// collectives that they do not name: the slowest is the all-reduce, which sends twice what a
// reduce-scatter or an all-gather does.
func readNCCL(c *catalogs, t *table) []experiment {
	list := readOperators(c, t, func(r *row) (*operator, *sim.Step) {
		return allReduceOf(r, libraryAllReduce), decode(1, 1)
	})
	for _, e := range list {
		o := e.(*operator)
		slowest := slices.MaxFunc(o.loads,
			func(a, b load) int { return cmp.Compare(a.measured[0].Value, b.measured[0].Value) })
		for range o.loads[1:] {
			t.skip("another collective of the same size, faster than the all-reduce")
		}
		o.loads = []load{slowest}
	}
	return list
}

// allReduceOf describes an all-reduce as one of those of a step of one token, whose hidden vector
// is the message.
func allReduceOf(r *row, kind allReduceKind) *operator {
	gpus, elements := r.batch("num_gpus"), r.count("message_size")
	if r.err == nil && gpus < 2 {
		r.fail(fmt.Errorf("num_gpus: found %d, want 2 or more", gpus))
	}
	o := &operator{names: []string{"all_reduce"}, allReduce: kind,
		shape: fmt.Sprintf("%d GPUs, %d elements", gpus, elements), variant: "all-reduce"}
	o.tensor = gpus
	o.model = oneLayer("all-reduce", elements, gpus, gpus, 1)
	o.model.Groups[0].Parallel = true
	o.runs = o.model.AllReduces()
	return o
}
