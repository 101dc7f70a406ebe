// Package batching holds the policies that decide what each step of a replica does: who decodes, whose prompt is computed, and
// who has to give way.
package batching

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// VLLMV1 is the scheduler of vLLM V1: each step has one token budget for decodes and chunked prefills. Those that run come
// first, then those that wait, in order of arrival; when KV memory runs out, the newest is preempted and computed again later
// (vllm/v1/core/sched/scheduler.py, v0.15).
type VLLMV1 struct {
	maxSequences int
	tokenBudget  int
	chunkLimit   int
	waiting      sim.Queue
}

// NewVLLMV1 returns the scheduler for at most maxSequences at once (max_num_seqs) and tokenBudget tokens a step
// (max_num_batched_tokens), which must not be fewer. chunkLimit bounds the prompt tokens of one request in a step
// (long_prefill_token_threshold); 0 means no bound.
func NewVLLMV1(maxSequences, tokenBudget, chunkLimit int) (*VLLMV1, error) {
	switch {
	case maxSequences < 1:
		return nil, fmt.Errorf("max-sequences is %d, want at least 1", maxSequences)
	case tokenBudget < maxSequences:
		return nil, fmt.Errorf("token-budget is %d, want at least max-sequences (%d), since each may decode a token a step", tokenBudget, maxSequences)
	case chunkLimit < 0:
		return nil, fmt.Errorf("chunk-limit is %d, want 0 (none) or more", chunkLimit)
	}
	if chunkLimit == 0 {
		chunkLimit = tokenBudget
	}
	return &VLLMV1{maxSequences: maxSequences, tokenBudget: tokenBudget, chunkLimit: chunkLimit}, nil
}

// Enqueue implements sim.Scheduler: a preempted sequence goes to the front.
func (v *VLLMV1) Enqueue(s *sim.Sequence) {
	if s.Preemptions > 0 {
		v.waiting.PushFront(s)
	} else {
		v.waiting.Push(s)
	}
}

// Waiting implements sim.Scheduler.
func (v *VLLMV1) Waiting() int { return v.waiting.Len() }

// Schedule implements sim.Scheduler.
func (v *VLLMV1) Schedule(b *sim.Batch) sim.Decision {
	before := v.waiting.Len()
	for !b.Decode() {
		victim := b.Victim()
		if victim == nil {
			return sim.Decision{Steps: 1}
		}
		b.Preempt(victim)
	}
	budget := v.continuePrefills(b, v.tokenBudget-b.DecodeTokens())
	if v.waiting.Len() > before {
		return sim.Decision{Steps: 1} // someone was preempted: nobody is admitted in the same step
	}
	for budget > 0 && b.Running() < v.maxSequences && v.waiting.Len() > 0 {
		s := v.waiting.Front()
		n := b.Prefill(s, min(budget, v.chunkLimit))
		if n == 0 {
			break
		}
		v.waiting.Remove(s)
		budget -= n
	}
	// With a queue, the decision waits for a place, for budget or for memory, and none comes from an arrival.
	return sim.Decision{Steps: sim.Forever, IgnoreArrivals: v.waiting.Len() > 0}
}

// continuePrefills spends the budget on prompts that are not complete, and returns what is left of it.
func (v *VLLMV1) continuePrefills(b *sim.Batch, budget int) int {
	for i := 0; i < len(b.Prefilling()) && budget > 0; {
		s := b.Prefilling()[i]
		n := b.Prefill(s, min(budget, v.chunkLimit))
		if n == 0 {
			if victim := b.Victim(); victim != nil {
				b.Preempt(victim) // perhaps s itself, which then is not there any more
				continue
			}
		}
		budget -= n
		i++
	}
	return budget
}
