package validation

import (
	"fmt"
)

// Replicas of Llama-3.1-70B under rising rates, with and without a cache in host memory
// (llm-d/llm-d-benchmark). What was found in caches was not recorded, so that only servers without
// a cache in host memory are compared, whose lists of requests do not fit into their caches.
func reuseRow(_ *catalogs, r *row, t *trial) string {
	rate, replicas := r.number("offered_rate_rps"), float64(r.batch("replicas"))
	if rate <= 0 {
		r.fail(fmt.Errorf("offered_rate_rps: found %g/s, want a rate above 0", rate))
	}
	if r.err != nil {
		return ""
	}
	n := max(1, t.count/int(replicas))
	t.sent = r.varied(n, float64(n)*replicas/rate, t.prompt, t.output)
	t.rehearsable = true
	t.Name = fmt.Sprintf("%g/s over %g replicas, %d in, %d out", rate, replicas, t.prompt,
		t.output)
	return ""
}
