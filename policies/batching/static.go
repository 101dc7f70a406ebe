package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Prompts says how a static batch computes prompts of unequal length.
type Prompts int

const (
	// Padded makes all prompts of a batch as long as the longest.
	Padded Prompts = iota
	// Packed computes each prompt at its own length.
	Packed
	// Shortest computes all prompts at once up to the length of the shortest. The rest of the
	// longer prompts is computed token by token, in steps in which other sequences already decode.
	Shortest
)

// Static is batching by request, as in FasterTransformer (the baseline of Yu et al., OSDI 2022,
// section 2). A batch runs until all its sequences are complete, and only then the next batch
// starts. Sequences that are complete earlier keep their place, as padding. All answers are
// returned at the end.
type Static struct {
	size    int      // the most sequences of a batch, at least 1
	delay   sim.Time // the longest wait for a full batch, at least 0
	prompts Prompts
	alone   bool // a batch has the whole pipeline to itself
	waiting fifo
	// lane is the lane of the batch that started last. With alone, active is true from its start
	// until the lane is asked for a step after the batch has ended; otherwise active means nothing.
	active bool
	lane   int
}

// NewStatic returns the scheduler for batches of at most size sequences. A batch takes the
// sequences that wait when the batch before it ends. It waits until it is full, but not longer than
// delay after the arrival of its first request (dynamic batching of NVIDIA Triton: max_batch_size,
// max_queue_delay_microseconds). If alone is true, a batch has the whole pipeline to itself;
// otherwise each stage may have a batch.
func NewStatic(size int, delay sim.Time, prompts Prompts, alone bool) (*Static, error) {
	switch {
	case size < 1:
		return nil, fmt.Errorf("batch-size is %d, want at least 1", size)
	case delay < 0:
		return nil, fmt.Errorf("max-delay is %v, want 0 or more", delay)
	}
	return &Static{size: size, delay: delay, prompts: prompts, alone: alone}, nil
}

// Enqueue implements sim.Scheduler.
func (s *Static) Enqueue(q *sim.Sequence) { s.waiting.add(q) }

// Waiting implements sim.Scheduler.
func (s *Static) Waiting() int { return s.waiting.len() }

// Schedule implements sim.Scheduler.
func (s *Static) Schedule(b *sim.Batch) sim.Decision {
	s.proceed(b)
	if b.Running() > 0 {
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
	s.start(b)
	return sim.Decision{Steps: 1, Together: true}
}

// start begins the next batch.
func (s *Static) start(b *sim.Batch) {
	limit, longest := math.MaxInt, 0
	if s.prompts == Shortest {
		limit = s.shortest()
	}
	for b.Running() < s.size && s.waiting.len() > 0 {
		first := s.waiting.first()
		n := b.Prefill(first, limit)
		if n == 0 {
			break
		}
		s.waiting.remove(first)
		longest = max(longest, n)
		s.active, s.lane = true, b.Lane()
	}
	if s.prompts == Padded {
		b.Pad(longest)
	}
}

// shortest returns the smallest number of prompt tokens that a sequence of the next batch has to
// compute.
func (s *Static) shortest() int {
	least, n := math.MaxInt, 0
	for q := range s.waiting.queue.All {
		if n++; n > s.size {
			break
		}
		least = min(least, q.Remaining())
	}
	return least
}

// proceed lets the decoding sequences of a batch decode, and computes one prompt token of each
// other sequence. If memory is short, the newest sequences give way.
func (s *Static) proceed(b *sim.Batch) {
	for !b.Decode() {
		if !s.preemptNewest(b) {
			return
		}
	}
	for i := 0; i < len(b.Prefilling()); {
		if b.Prefill(b.Prefilling()[i], 1) > 0 {
			i++
		} else if !s.preemptNewest(b) { // perhaps i itself, but no sequence before it
			return
		}
	}
}

// preemptNewest lets the newest sequence wait for the next batch. It returns false if no sequence
// can give way now.
func (s *Static) preemptNewest(b *sim.Batch) bool {
	victim := b.Victim()
	if victim == nil {
		return false
	}
	s.waiting.add(b.Preempt(victim))
	return true
}
