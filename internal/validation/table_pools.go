package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/scenarios"
)

// The same H100s serve Llama-3.1-8B as plain replicas, or with prefill and decode apart
// (llm-d/llm-d-benchmark, exp-7): requests that are all alike come at nearly even distances.
// layout returns the numbers of prefill and of decode servers; for plain replicas, the first is 0.
func layout(r *row) (prefill, decode int) {
	text := r.required("layout")
	if n, err := fmt.Sscanf(text, "%dp%dd", &prefill, &decode); n == 2 && err == nil {
		return prefill, decode
	}
	if n, err := fmt.Sscanf(text, "%dreplicas", &decode); n != 1 || err != nil {
		r.fail(fmt.Errorf("layout: found %q, want such as 1p1d or 2replicas", text))
	}
	return 0, decode
}

// evenLoad returns the requests of a row for one of some replicas.
func evenLoad(r *row, replicas int) scenarios.Workload {
	rate, n := r.number("request_rate"), r.count("prompts")
	if r.err == nil && (rate <= 0 || n > maxRequests || replicas < 1 || replicas > n) {
		r.fail(fmt.Errorf("found %d requests at %g/s over %d replicas", n, rate, replicas))
	}
	return arriving((n+replicas-1)/max(1, replicas), rate/float64(replicas), "constant",
		fixed(r.count("prompt_tokens_mean")), fixed(r.count("output_tokens_mean")))
}

// stalls reports whether tokens wait for prompts: one gap in a hundred is several times as long as
// most are. Decode servers that only receive KV have no such gaps. In these runs the gaps last as
// long as a prompt takes on plain replicas (215 ms of 8,000 tokens, 236 of 10,000), and a request
// sees as many as there: half of the prompts, or a third, were computed where they decoded.
func stalls(r *row) bool {
	const several = 5
	longest, usual := r.number("itl_p99_ms|=0"), r.number("itl_median_ms|=0")
	return usual > 0 && longest > several*usual
}

func poolRow(_ *catalogs, r *row, t *trial) string {
	prefill, decode := layout(r)
	if decode > maxBatch || prefill > maxBatch {
		r.fail(fmt.Errorf("layout: found more than %d servers", maxBatch))
	}
	name, sharing := fmt.Sprintf("%d prefill, %d decode", prefill, decode), 1
	switch {
	case prefill == 0:
		name, sharing = fmt.Sprintf("%d replicas", decode), decode
	case stalls(r):
		sharing = prefill + decode
		name = fmt.Sprintf("%d servers that all compute prompts", sharing)
	default:
		t.divided(prefill, decode)
	}
	t.Workload = evenLoad(r, sharing)
	t.Name = fmt.Sprintf("%s, %g/s", name, r.number("request_rate"))
	return ""
}
