package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// VLLMV0 is the scheduler of vLLM V0, as in the paper (Kwon et al., SOSP 2023, section 4.5;
// vllm/core/scheduler.py, v0.5). A step either computes prompts or
// decodes. Prompts come first, whole and in order of arrival, as far as the token budget and memory
// allow. A part of memory, the watermark, stays free for the running sequences. When memory runs
// out, the newest sequence is preempted: it is computed again later, or swapped out to host memory.
// While a sequence is in host memory, no prompt starts.
type VLLMV0 struct {
	Continuous
	watermark float64
}

// NewVLLMV0 returns the scheduler for at most maxSequences at once and tokenBudget prompt tokens a
// step. watermark is the share of memory in [0, 1) that newcomers leave free; vLLM's is 0.01.
func NewVLLMV0(maxSequences, tokenBudget int, watermark float64, swap bool) (*VLLMV0, error) {
	c, err := newContinuous(Limits{MaxSequences: maxSequences, TokenBudget: tokenBudget}, &fifo{})
	if err != nil {
		return nil, err
	}
	if !(watermark >= 0 && watermark < 1) {
		return nil, fmt.Errorf("watermark is %g, want a share of memory in [0, 1)", watermark)
	}
	c.whole, c.swap = true, swap
	return &VLLMV0{*c, watermark}, nil
}

// CutPrompts computes prompts in chunks beside the decoding sequences, which come first (chunked
// prefill). The budget then holds for all tokens of a step. A prompt starts only if memory has room
// for all of it, beside the watermark and what prompts that were begun still take: V0 takes the
// memory of a whole prompt when it starts (_schedule_chunked_prefill and can_allocate, v0.6).
func (v *VLLMV0) CutPrompts() {
	v.whole = false
	v.accept = func(b *sim.Batch, s *sim.Sequence) bool {
		m := b.Memory()
		taken := m.Used() + int64(v.watermark*float64(m.Capacity()))
		for _, begun := range b.Prefilling() {
			taken += m.Units(begun.Stored+begun.Remaining()) - m.Units(begun.Stored)
		}
		return b.Running() == 0 || taken+m.Units(s.Stored+s.Remaining()) <= m.Capacity()
	}
}

// Schedule implements sim.Scheduler.
func (v *VLLMV0) Schedule(b *sim.Batch) sim.Decision {
	if !v.whole {
		return v.Continuous.Schedule(b)
	}
	if m := b.Memory(); m.Used() > 0 {
		b.Reserve(int64(v.watermark * float64(m.Capacity())))
	}
	before := v.waiting.len()
	if before > 0 && v.waiting.first().Swapped == 0 &&
		v.admit(b, v.limits.TokenBudget) < v.limits.TokenBudget {
		return sim.Decision{Steps: 1}
	}
	if !v.decode(b) || v.waiting.len() > before {
		return sim.Decision{Steps: 1} // someone was preempted: nobody comes back in the same step
	}
	for v.waiting.len() > 0 && v.waiting.first().Swapped > 0 && v.start(b, math.MaxInt) > 0 {
	}
	return v.stands(b)
}
