package validation

import (
	"context"
	"fmt"
)

// AMD's page of vLLM: throughput with as many requests as may run, and the latency of batches of
// equal requests.
var vllmOfflineColumns = []string{"model", "gpu", "tp", "dtype", "isl", "osl",
	"max_num_seqs_or_batch"}

var vllmOfflineFigures = []figure{{"output_tok_s", "output rate", "tokens/s", 1},
	{"batch_latency_s", "batch latency", "s", 1}}

// vllmOffline is requests that are queued at once.
type vllmOffline struct {
	deployment
	place
	requests, prompt, output int
	measured                 []measurement
}

func readVLLMOffline(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"), r.count("tp"))
		o := &vllmOffline{deployment: d, requests: r.batch("max_num_seqs_or_batch"),
			prompt: r.count("isl"), output: r.count("osl")}
		o.measured = r.measured(vllmOfflineFigures)
		if r.err != nil {
			return
		}
		o.engine = "vllm-v1"
		o.setDefaults()
		o.narrowCache()
		// The page's script: --max-num-batched-tokens 131072, --num-prompts and --max-num-seqs as
		// in the table.
		o.maxSequences, o.tokenBudget, o.largestStep = o.requests, 131072, 8192
		o.place = place{Group: o.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%d requests, %d in, %d out", o.requests, o.prompt, o.output)}
		list = append(list, o)
	})
	return list
}

func (o *vllmOffline) at() place { return o.place }

// compare implements experiment.
func (o *vllmOffline) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	all, err := o.serve(ctx, p, atOnce(o.requests, o.prompt, o.output))
	if err != nil {
		return nil, err
	}
	return o.place.compare(o.measured, map[string]float64{"output rate": all.outputRate(),
		"batch latency": all.last.Seconds()}), nil
}
