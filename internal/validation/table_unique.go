package validation

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// vLLM 0.23 under a constant rate of prompts that are all different, so that every prompt is
// computed (inference-sim/residency-vllm). The client has at most max_in_flight requests in flight.
// clientLimit is the number of requests that the client has in flight at most, and fullShare the
// share of it in flight on average from which on the load is a closed loop.
const (
	clientLimit = 256
	fullShare   = 0.9
)

func uniqueRow(_ *catalogs, r *row, t *trial) string {
	rate, length := r.number("rate_rps"), r.number("stage_s")
	if n := rate * length; n < 1 || n > maxRequests {
		r.fail(fmt.Errorf("rate_rps and stage_s: found %g/s for %g s, want 1 to %d requests",
			rate, length, maxRequests))
	}
	full := r.number("mean_in_flight") >= fullShare*clientLimit
	if r.err != nil {
		return ""
	}
	t.count, t.least = clientLimit, equalLength
	t.Name = fmt.Sprintf("%g/s, %d in, %d out, no two prompts alike", rate, t.prompt, t.output)
	if full {
		name := t.Name
		t.closed()
		t.Name = name + ", 256" + accuracy.Saturated
		return ""
	}
	t.Workload = arriving(int(math.Round(rate*length)), rate, "poisson", fixed(t.prompt),
		fixed(t.output))
	t.rehearsable = true
	return ""
}
