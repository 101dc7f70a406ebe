package validation

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Replicas of Llama-3.1-70B under rising rates, with and without a cache in host memory
// (llm-d/llm-d-benchmark). What was found in caches was not recorded, so that only servers without
// a cache in host memory are compared, whose lists of requests do not fit into their caches.
var reuseRows = rowSpec{
	refuses: func(r *row) string {
		switch {
		case r.text("workload") != "sharegpt":
			return "conversations, of which the share found in the cache was not recorded"
		case r.optional("cpu_cache_gb", 0) > 0:
			return "a cache in host memory, of which the share found was not recorded"
		}
		return ""
	},
	describe: func(_ *catalogs, r *row, t *trial) string {
		rate, replicas := r.number("offered_rate_rps"), float64(r.batch("replicas"))
		t.utilisation = r.optional("gpu_memory_utilization", 0.9)
		if rate <= 0 || t.utilisation > 1 {
			r.fail(fmt.Errorf("found %g/s at utilisation %g, want a rate above 0 and a share",
				rate, t.utilisation))
		}
		if r.err != nil {
			return ""
		}
		t.engine = "vllm-v1-sync" // May 2025
		t.setDefaults()
		t.load = func() (sim.Source, error) {
			return poisson(t.count/int(replicas), rate/replicas, t.prompt, t.output)
		}
		t.rehearsable = true
		t.Name = fmt.Sprintf("%g/s over %g replicas, %d in, %d out", rate, replicas, t.prompt,
			t.output)
		return ""
	},
}

// poisson returns n requests at random times of a rate, with lengths that vary as in real questions
// and answers.
func poisson(n int, rate float64, prompt, output int) (sim.Source, error) {
	rng := rand.New(rand.NewPCG(0, 0))
	prompts, err := lengths.LogNormal(float64(prompt), realSpread, 1, longestReal*prompt)
	if err != nil {
		return nil, err
	}
	outputs, err := lengths.LogNormal(float64(output), realSpread, 1, longestReal*output)
	if err != nil {
		return nil, err
	}
	var requests []sim.Request
	for _, at := range spread(max(1, n), float64(max(1, n))/rate, rng) {
		requests = append(requests, sim.Request{Arrival: sim.Seconds(at),
			Prompt: prompts.At(rng.Uint64()), Output: outputs.At(rng.Uint64())})
	}
	return listed(requests), nil
}
