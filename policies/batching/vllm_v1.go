package batching

import "fmt"

// NewVLLMV1 returns the scheduler of vLLM V1: each step has one token budget for decodes and
// chunked prefills. The running sequences come first, then the waiting sequences, in order of
// arrival; when KV memory runs out, the newest is preempted and computed again later
// (vllm/v1/core/sched/scheduler.py, v0.15).
//
// There are at most maxSequences at once (max_num_seqs) and tokenBudget tokens a step
// (max_num_batched_tokens), which must not be fewer. chunkLimit bounds the prompt tokens of one
// request in a step (long_prefill_token_threshold); 0 means no bound.
func NewVLLMV1(maxSequences, tokenBudget, chunkLimit int) (*Continuous, error) {
	return newContinuous(Limits{maxSequences, tokenBudget, chunkLimit}, &fifo{})
}

// SpacePrompts lets at most one of that many steps compute prompts while sequences decode, so that
// prompts of data-parallel ranks, which take their steps together, share steps
// (prefill_schedule_interval of vLLM v0.25).
func (c *Continuous) SpacePrompts(steps int) error {
	if steps < 1 {
		return fmt.Errorf("prefill-interval is %d, want at least 1", steps)
	}
	c.interval = int64(steps)
	return nil
}

func newContinuous(limits Limits, waiting order) (*Continuous, error) {
	limits, err := limits.resolve()
	if err != nil {
		return nil, err
	}
	return &Continuous{limits: limits, waiting: waiting}, nil
}
