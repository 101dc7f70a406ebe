package batching

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// LightLLM is the scheduler of LightLLM, which S-LoRA took over (Sheng et al., MLSys 2024;
// slora/server/router/req_queue.py and manager.py). A request starts if the KV memory has room for
// the peak that is foreseen: the most tokens that the running requests and the newcomer will ever
// hold together, given that each is as long as it may become and leaves when it ends. Requests that
// are shorter only leave earlier, so that nothing is evicted. Prompts are whole and have steps of
// their own, with some decode steps between two of them.
type LightLLM struct {
	Continuous
	maxOutput int
	// futures is scratch space of accept.
	futures []future
}

// future is the KV cache that a sequence holds and may still add, in tokens.
type future struct{ held, left int }

// NewLightLLM returns the scheduler for at most maxSequences at once and tokenBudget prompt tokens
// a step. Between two steps with prompts at least waitSteps decode (max_wait_tokens; 10 in S-LoRA).
// maxOutput is the number of output tokens for which every request asks (max_tokens); 0 means that
// it asks for what it will generate.
func NewLightLLM(maxSequences, tokenBudget, waitSteps, maxOutput int) (*LightLLM, error) {
	c, err := newContinuous(Limits{MaxSequences: maxSequences, TokenBudget: tokenBudget}, &fifo{})
	if err != nil {
		return nil, err
	}
	if waitSteps < 0 || maxOutput < 0 {
		return nil, fmt.Errorf("wait-steps is %d and max-output %d, want 0 or more", waitSteps,
			maxOutput)
	}
	c.whole, c.interval = true, int64(waitSteps)+1
	l := &LightLLM{Continuous: *c, maxOutput: maxOutput}
	l.accept = func(b *sim.Batch, s *sim.Sequence) bool {
		return b.Running() == 0 || l.peak(b, s) <= b.Memory().Capacity()
	}
	return l, nil
}

// Schedule implements sim.Scheduler.
func (l *LightLLM) Schedule(b *sim.Batch) sim.Decision {
	most := l.limits.TokenBudget
	if l.waiting.len() > 0 && l.spaced(b) == 0 && l.admit(b, most) < most {
		l.recordPrompts(b, true)
		return sim.Decision{Steps: 1}
	}
	waiting := l.waiting.len()
	if !l.decode(b) || l.waiting.len() > waiting {
		return sim.Decision{Steps: 1}
	}
	if l.waiting.len() > 0 && b.Running() < l.limits.MaxSequences {
		// The peak beside a newcomer may be lower after each step.
		return sim.Decision{Steps: max(1, l.spaced(b))}
	}
	return l.stands(b)
}

// peak returns an upper bound of the units of memory that the sequences of b and s will ever hold
// together, if s starts now and no other does. The largest number of tokens is there when one of
// them ends. Sort the sequences by when they end, the last first: it is the largest of
// Σ held + n·left over the first n.
func (l *LightLLM) peak(b *sim.Batch, s *sim.Sequence) int64 {
	l.futures = l.futures[:0]
	for r := range b.All {
		l.futures = append(l.futures, l.future(r))
	}
	l.futures = append(l.futures, l.future(s))
	slices.SortFunc(l.futures, func(x, y future) int { return cmp.Compare(y.left, x.left) })
	memory := b.Memory()
	partly := int64(1) // units that a sequence has filled in part
	if memory.Units(2) > memory.Units(1) {
		partly = 0
	}
	held, peak := 0, int64(0)
	for i, f := range l.futures {
		held += f.held
		peak = max(peak, memory.Units(held+(i+1)*f.left)+partly*int64(i))
	}
	return peak
}

// future returns what s holds once it decodes, after the step that computes its prompt and its
// first token, and what it may add. The last token is never stored.
func (l *LightLLM) future(s *sim.Sequence) future {
	done := max(1, s.Progress())
	left := max(s.Output, l.maxOutput) - 1 - done
	return future{s.Prompt + done + min(0, left), max(0, left)}
}
