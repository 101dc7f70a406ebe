package batching

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// NewTRTLLMMaxUtilization returns the in-flight batching of TensorRT-LLM with the capacity policy
// MAX_UTILIZATION (tensorrt_llm/batch_manager/capacityScheduler.cpp, v0.15). Requests start as long
// as there is memory for their prompts. When memory runs out, the newest is paused and computed
// again. Prompts are whole unless chunked is true (enable_chunked_context). maxSequences is
// max_batch_size, and tokenBudget is max_num_tokens. At most tokenBudget sequences run, even if
// maxSequences is larger.
func NewTRTLLMMaxUtilization(maxSequences, tokenBudget int, chunked bool, wait BatchWait) (
	*Continuous, error) {
	if err := wait.validate(); err != nil {
		return nil, err
	}
	most := min(maxSequences, max(1, tokenBudget))
	queue := &fifo{}
	c, err := newContinuous(Limits{MaxSequences: most, TokenBudget: tokenBudget}, queue)
	if err != nil {
		return nil, err
	}
	c.whole = !chunked
	if wait.Steps > 0 && wait.Tokens > 0 {
		c.gathering = &gathering{BatchWait: wait, queue: queue}
	}
	return c, nil
}

// TRTLLMNoEvict is the in-flight batching of TensorRT-LLM with the capacity policy
// GUARANTEED_NO_EVICT, its default: a request starts if memory suffices for it and all running
// requests to grow to their full length, so that no request is ever paused.
type TRTLLMNoEvict struct {
	Continuous
	maxOutput int // tokens of an answer for which memory must suffice, see NewTRTLLMNoEvict
	// promised is the sum of units over the sequences in batches. accept keeps it at most the
	// capacity of the memory, except for one sequence alone.
	promised int64
}

// NewTRTLLMNoEvict returns the scheduler with the parameters of NewTRTLLMMaxUtilization. maxOutput
// is the number of output tokens that every request asks room for (max_tokens); 0 means that it
// asks for just what it will generate, as benchmarks do. If ranks wait for each other,
// wait.Steps and wait.Tokens have no effect.
func NewTRTLLMNoEvict(maxSequences, tokenBudget int, chunked bool, wait BatchWait, maxOutput int) (
	*TRTLLMNoEvict, error) {
	ranks := wait.Ranks
	wait.Ranks = RankWait{}
	c, err := NewTRTLLMMaxUtilization(maxSequences, tokenBudget, chunked, wait)
	if err != nil {
		return nil, err
	}
	if err := ranks.validate(&c.limits, chunked); err != nil {
		return nil, err
	}
	if maxOutput < 0 {
		return nil, fmt.Errorf("max-output is %d, want 0 (what is generated) or more", maxOutput)
	}
	if ranks.on() {
		c.ranks = newRanks(ranks)
		c.waiting = c.ranks
	}
	t := &TRTLLMNoEvict{Continuous: *c, maxOutput: maxOutput}
	t.accept = func(b *sim.Batch, s *sim.Sequence) bool {
		return t.promised == 0 || t.promised+t.units(b, s) <= b.Memory().Capacity()
	}
	return t, nil
}

// units returns the number of units of memory that s may take in the end. The last token is never
// stored.
func (t *TRTLLMNoEvict) units(b *sim.Batch, s *sim.Sequence) int64 {
	return b.Memory().Units(s.Prompt + max(s.Output, t.maxOutput) - 1)
}

// Enqueue implements sim.Scheduler.
func (t *TRTLLMNoEvict) Enqueue(s *sim.Sequence) {
	if t.ranks != nil {
		t.ranks.arrive(s)
	}
	t.Continuous.Enqueue(s)
}

// Withdraw implements sim.Withdrawer.
func (t *TRTLLMNoEvict) Withdraw(s *sim.Sequence) {
	t.Continuous.Withdraw(s)
	if t.ranks != nil {
		t.ranks.requests[t.ranks.place.Of(s).rank]--
	}
}

// Entered implements sim.Listener.
func (t *TRTLLMNoEvict) Entered(b *sim.Batch, s *sim.Sequence) {
	t.promised += t.units(b, s)
	if t.ranks != nil {
		t.ranks.entered(b, s)
	}
}

// Joined implements sim.Listener.
func (t *TRTLLMNoEvict) Joined(b *sim.Batch, s *sim.Sequence) {
	if t.ranks != nil {
		t.ranks.joined(b, s)
	}
}

// Left implements sim.Listener.
func (t *TRTLLMNoEvict) Left(b *sim.Batch, s *sim.Sequence, gone bool) {
	t.promised -= t.units(b, s)
	if t.ranks != nil {
		t.ranks.left(b, s, gone)
	}
}
