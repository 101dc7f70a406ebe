package validation

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// An engine of 2023 without captured graphs: prompts of a batch are computed in one step, then all
// decode together.
var eagerColumns = []string{"model", "hardware", "tensor_parallel", "prompt_size", "batch_size",
	"token_size", "prompt_ms_median", "token_ms_median"}

var eagerFigures = []figure{{"prompt_ms_median", "prompt", "ms", 1},
	{"token_ms_median", "token", "ms", 1}}

type eagerBatch struct {
	deployment
	place
	batch, prompt, output int
	measured              []measurement
}

func readEager(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), r.required("hardware"),
			orElse(r.text("dtype"), "fp16"), r.count("tensor_parallel"))
		e := &eagerBatch{deployment: d, batch: r.batch("batch_size"),
			prompt: r.count("prompt_size"), output: r.count("token_size"),
			measured: r.measured(eagerFigures)}
		// Answers that ended early have fewer tokens, as the ratio of end-to-end times shows.
		e.output = max(1, int(float64(e.output)*min(1, r.optional("e2e_ratio", 1))))
		if r.err != nil {
			return
		}
		e.engine = "eager-2023"
		e.place = place{Group: e.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("batch %d, %d in, %d out", e.batch, e.prompt, e.output)}
		list = append(list, e)
	})
	return list
}

func (e *eagerBatch) at() place { return e.place }

// compare implements experiment.
func (e *eagerBatch) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	clock, err := e.clock(p)
	if err != nil {
		return nil, err
	}
	prompts := clock.Duration(prefill(e.batch, e.prompt, 0))
	middle := clock.Duration(decode(e.batch, e.prompt+(e.output+1)/2))
	return e.place.compare(e.measured, map[string]float64{"prompt": prompts.Milliseconds(),
		"token": middle.Milliseconds()}), nil
}

// prefill returns the step that computes n chunks of the given length after cached tokens.
func prefill(n, tokens, cached int) *sim.Step {
	s := &sim.Step{}
	for range n {
		s.Prefill = append(s.Prefill, sim.Chunk{New: tokens, Cached: cached, Last: true})
	}
	return s
}

// decode returns the step in which n sequences attend to the given number of tokens each.
func decode(n, context int) *sim.Step {
	return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n) * int64(context)}
}
