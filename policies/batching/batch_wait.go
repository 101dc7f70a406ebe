package batching

import (
	"errors"
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// BatchWait lets newcomers wait for each other while others decode, so that fewer steps compute
// prompts. They wait for at most Steps steps (batch_wait_timeout_iters of TensorRT-LLM), or until
// their step would fill the share Tokens of its token budget (batch_wait_max_tokens_ratio). The
// zero value starts newcomers at once (tensorrt_llm/_torch/pyexecutor/py_executor.py,
// _waiting_requests, v1.1).
type BatchWait struct {
	Steps  int
	Tokens float64
	// Ranks says how data-parallel ranks wait for each other instead. It needs NewTRTLLMNoEvict.
	Ranks RankWait
}

func (w BatchWait) validate() error {
	switch {
	case w.Steps < 0:
		return fmt.Errorf("wait-steps is %d, want 0 (start at once) or more", w.Steps)
	case !(w.Tokens >= 0 && w.Tokens <= 1):
		return fmt.Errorf("wait-tokens is %g, want 0 (start at once) to 1", w.Tokens)
	case w.Ranks != RankWait{}:
		return errors.New("rank-wait: prompts wait for other ranks with guaranteed-no-evict only")
	}
	return nil
}

// gathering is the state of the newcomers that wait for each other.
type gathering struct {
	BatchWait
	queue *fifo
	// begun holds, for each batch, the number of its steps when newcomers began to wait, plus 1. It
	// is 0 if no sequence waits. Newcomers that have waited and find no memory do not wait again.
	begun []int64
}

// left returns the number of steps for which the newcomers still wait.
func (g *gathering) left(b *sim.Batch, c *Continuous) int64 {
	for len(g.begun) <= b.Lane() {
		g.begun = append(g.begun, 0)
	}
	begun := &g.begun[b.Lane()]
	if b.Decodes() == 0 || !g.someStart(b, c) {
		*begun = 0
		return 0
	}
	if g.enough(b, &c.limits) {
		return 0
	}
	if *begun == 0 {
		*begun = b.Steps() + 1
	}
	return max(0, *begun-1+int64(g.Steps)-b.Steps())
}

// someStart reports whether the first waiting sequence has a place and room in memory.
func (g *gathering) someStart(b *sim.Batch, c *Continuous) bool {
	return g.queue.len() > 0 && b.Running() < c.limits.MaxSequences &&
		(c.accept == nil || c.accept(b, g.queue.first()))
}

// enough reports whether the newcomers that find a place fill the step.
func (g *gathering) enough(b *sim.Batch, l *Limits) bool {
	wanted := g.Tokens * float64(l.TokenBudget)
	tokens, places := b.DecodeTokens(), l.MaxSequences-b.Running()
	for s := range g.queue.queue.All {
		if float64(tokens) >= wanted || places == 0 || tokens+s.Remaining() > l.TokenBudget {
			break
		}
		tokens += s.Remaining()
		places--
	}
	return float64(tokens) >= wanted
}
