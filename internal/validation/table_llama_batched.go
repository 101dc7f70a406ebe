package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// llama.cpp on a DGX Spark: sequences that are read one after another and then decode together, and
// one sequence behind a context (ggml-org/llama.cpp, benches/dgx-spark.md).
// microBatch is the number of tokens of a prompt that are computed together (-ub).
const microBatch = 2048

func batchedRow(_ *catalogs, r *row, t *trial) string {
	depth, generated := r.whole("depth", 0), r.count("generated")
	if t.prompt > maxRequests || depth > maxRequests {
		r.fail(fmt.Errorf("prompt, depth: found %d and %d, want at most %d", t.prompt, depth,
			maxRequests))
	}
	if r.err != nil {
		return ""
	}
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		var read sim.Time
		together := max(1, min(t.count, microBatch/t.prompt)) // sequences of a micro-batch
		for done := 0; done < t.prompt; done += microBatch {
			read += clock.Duration(prefill(together, min(microBatch, t.prompt-done),
				depth+done))
		}
		context := t.prompt + generated/2
		if r.text("test") == "single" {
			context = depth + generated/2
		}
		token := clock.Duration(decode(t.count, context))
		return map[string]float64{"prefill rate": float64(together*t.prompt) / read.Seconds(),
			"decode rate": float64(t.count) / token.Seconds()}
	})
	t.Name = fmt.Sprintf("%s, batch %d of %d tokens after %d", r.text("test"), t.count,
		t.prompt, depth)
	return ""
}
