package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// An engine of 2023 without captured graphs: prompts of a batch are computed in one step, then all
// decode together.
func eagerRow(_ *catalogs, r *row, t *trial) string {
	// Answers that ended early have fewer tokens, as the ratio of end-to-end times shows.
	t.output = max(1, int(float64(t.output)*min(1, r.number("e2e_ratio|=1"))))
	t.inSteps(map[string]*sim.Step{"prompt": prefill(t.count, t.prompt, 0),
		"token": decode(t.count, t.prompt+(t.output+1)/2)})
	t.Name = fmt.Sprintf("batch %d, %d in, %d out", t.count, t.prompt, t.output)
	return ""
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
