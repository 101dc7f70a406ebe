package validation

import (
	"context"
	"fmt"
)

// The blocks were resolved by vLLM servers with the limits of the vLLM runs.
var kvBlockColumns = []string{"model", "gpu", "tensor_parallel", "dtype", "gpu_memory_utilization",
	"kv_blocks"}

type kvBlocks struct {
	deployment
	place
	blockTokens int
	measured    []measurement
}

func readKVBlocks(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"),
			r.count("tensor_parallel"))
		engine, err := parseEngine(orElse(r.text("engine"), "vllm"))
		if err != nil {
			r.fail(err)
		}
		d.engine, d.utilisation = engine, r.number("gpu_memory_utilization")
		d.maxSequences, d.tokenBudget = r.optionalCount("max_num_seqs", 128),
			r.optionalCount("max_num_batched_tokens", 2048)
		b := &kvBlocks{deployment: d, blockTokens: r.optionalCount("block_tokens", blockTokens),
			measured: r.measured([]figure{{"kv_blocks", "KV blocks", "blocks", 1}})}
		if r.err == nil && (d.utilisation <= 0 || d.utilisation > 1) {
			r.fail(fmt.Errorf("gpu_memory_utilization: found %g, want a share above 0, at most 1",
				d.utilisation))
		}
		if r.err != nil {
			return
		}
		b.place = place{Group: d.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("utilisation %g", d.utilisation)}
		list = append(list, b)
	})
	return list
}

func (b *kvBlocks) at() place { return b.place }

// compare implements experiment.
func (b *kvBlocks) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	server, err := b.server(p, b.blockTokens)
	if err != nil {
		return nil, err
	}
	return b.place.compare(b.measured,
		map[string]float64{"KV blocks": float64(server.Plan.Blocks)}), nil
}
