package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

var gemmColumns = []string{"gemm_dtype", "m", "n", "k", "latency"}

// readGEMM reads matrix products: the output projection of a layer n wide whose head is k wide.
func readGEMM(c *catalogs, t *table) []experiment {
	return readOperators(c, t, func(r *row) (*operator, *sim.Step) {
		m, n, k := r.count("m"), r.count("n"), r.count("k")
		o := &operator{names: []string{"out"}, shape: fmt.Sprintf("%d × %d", n, k),
			variant: r.text("gemm_dtype")}
		o.weights = r.format("gemm_dtype")
		o.model = oneLayer("gemm", n, 1, 1, k)
		return o, prefill(1, m, 0)
	})
}
