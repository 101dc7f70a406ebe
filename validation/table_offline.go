package validation

import (
	"context"
	"fmt"
)

// TensorRT-LLM's throughput benchmark: all requests are queued at once.
var offlineColumns = []string{"model", "isl", "osl", "tensor_parallel", "gpu", "dtype", "output_tokens_per_s"}

// queuedTokens is about how many tokens all requests have together. The benchmark's own lists are 1,000 to 30,000 requests long; from
// about 1,000 on, how many does not matter.
const offlineRequests = 1000

type offline struct {
	deployment
	place
	prompt, output int
	measured       []measurement
}

func readOffline(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"), r.count("tensor_parallel"))
		o := &offline{deployment: d, prompt: r.count("isl"), output: r.count("osl"), measured: r.measured([]figure{{"output_tokens_per_s", "output rate", "tokens/s", 1}})}
		if r.err != nil {
			return
		}
		o.engine = "trtllm"
		o.setDefaults()
		o.maxSequences, o.utilisation = 2048, 0.95
		o.place = place{Group: o.group(), file: t.file, line: r.line, name: fmt.Sprintf("%d in, %d out", o.prompt, o.output)}
		list = append(list, o)
	})
	return list
}

func (o *offline) at() place { return o.place }

// compare implements experiment.
func (o *offline) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	all, err := o.serve(ctx, p, atOnce(offlineRequests, o.prompt, o.output))
	if err != nil {
		return nil, err
	}
	return o.place.compare(o.measured, map[string]float64{"output rate": all.outputRate()}), nil
}
