package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Static is batching by request: a batch runs until all its sequences are complete, and only then the next one starts. Sequences
// that are complete before keep their place, as padding, and all answers are returned at the end, as FasterTransformer does (the
// baseline of Yu et al., OSDI 2022, section 2).
type Static struct {
	size       int
	delay      sim.Time
	padPrompts bool
	alone      bool
	waiting    fifo
	active     bool // a batch is under way, in the lane
	lane       int
}

// NewStatic returns the scheduler for batches of at most size sequences: those that wait when the batch before ends. It waits for
// a batch to be full, but not longer than delay after the arrival of its first request (dynamic batching of NVIDIA Triton:
// max_batch_size, max_queue_delay_microseconds). padPrompts tells that all prompts of a batch are made as long as the longest;
// alone that a batch has the whole pipeline to itself, where otherwise each stage may have one.
func NewStatic(size int, delay sim.Time, padPrompts, alone bool) (*Static, error) {
	switch {
	case size < 1:
		return nil, fmt.Errorf("batch-size is %d, want at least 1", size)
	case delay < 0:
		return nil, fmt.Errorf("max-delay is %v, want 0 or more", delay)
	}
	return &Static{size: size, delay: delay, padPrompts: padPrompts, alone: alone}, nil
}

// Enqueue implements sim.Scheduler: a sequence for which memory ran out is in the next batch.
func (s *Static) Enqueue(q *sim.Sequence) { s.waiting.add(q) }

// Waiting implements sim.Scheduler.
func (s *Static) Waiting() int { return s.waiting.len() }

// Schedule implements sim.Scheduler.
func (s *Static) Schedule(b *sim.Batch) sim.Decision {
	if b.Running() > 0 {
		for !b.Decode() {
			victim := b.Victim()
			if victim == nil {
				break
			}
			b.Preempt(victim)
		}
		return sim.Decision{Steps: sim.Forever, IgnoreArrivals: true, Together: true}
	}
	if s.active && s.alone && s.lane != b.Lane() {
		return sim.Decision{}
	}
	s.active = false
	if n := s.waiting.len(); n > 0 && n < s.size {
		if full := s.waiting.first().Arrival + s.delay; full > b.Now() {
			return sim.Decision{Wake: full}
		}
	}
	longest := 0
	for b.Running() < s.size && s.waiting.len() > 0 {
		first := s.waiting.first()
		n := b.Prefill(first, math.MaxInt)
		if n == 0 {
			break
		}
		s.waiting.remove(first)
		longest = max(longest, n)
		s.active, s.lane = true, b.Lane()
	}
	if s.padPrompts {
		b.Pad(longest)
	}
	return sim.Decision{Steps: 1, Together: true}
}
