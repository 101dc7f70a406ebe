// Package batching holds the policies that decide what each step of a replica does: which sequences
// decode, whose prompts are computed, and which sequences give way. Most policies are a Continuous
// with limits, an order of the waiting sequences, and a rule for giving way.
package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Continuous decides in every step which sequences are in the batch (iteration-level scheduling: Yu
// et al., OSDI 2022, section 3). Decoding sequences come first, then prompts that were begun, and
// then the waiting sequences in some order, as far as places, token budget and KV memory allow.
// When memory runs out, the sequences last in order give way. Each constructor says which engine's
// scheduler it returns.
type Continuous struct {
	limits  Limits
	waiting order
	// whole is true if prompts are not cut into chunks.
	whole bool
	// swap is true if a sequence that gives way moves to host memory, as far as there is room.
	// Otherwise it is computed again.
	swap bool
	// accept reports whether a newcomer may start, if memory has room for its prompt; nil means
	// that it always may.
	accept func(b *sim.Batch, s *sim.Sequence) bool
	// gathering is set if newcomers wait for each other.
	gathering *gathering
	// ranks is set if the prompts of data-parallel ranks wait for each other.
	ranks *ranks
	// interval is the number of steps from one with prompts to the next while sequences decode, and
	// prompted, for each batch, the number of its steps before the last one with prompts.
	interval int64
	prompted []int64
}

// order is the order of the waiting sequences.
type order interface {
	// add takes in a sequence that arrived or gave way.
	add(s *sim.Sequence)
	len() int
	// first returns the sequence that starts next. The result stays the same until a sequence is
	// added, is removed, or leaves a batch. first is called only if a sequence waits and has a
	// place.
	first() *sim.Sequence
	// remove takes a sequence out, which is usually the first.
	remove(s *sim.Sequence)
	// victim returns the running sequence that gives way first, or nil if no sequence can give way
	// now.
	victim(b *sim.Batch) *sim.Sequence
	// displaced returns a running sequence of b that gives way to the first waiting sequence, or
	// nil.
	displaced(b *sim.Batch) *sim.Sequence
	// ignoresArrivals reports whether no arrival can start before a sequence finishes. full says
	// that the batch has no place left.
	ignoresArrivals(full bool) bool
}

// Enqueue implements sim.Scheduler.
func (c *Continuous) Enqueue(s *sim.Sequence) { c.waiting.add(s) }

// Waiting implements sim.Scheduler.
func (c *Continuous) Waiting() int { return c.waiting.len() }

// InOrder implements sim.InOrder.
func (c *Continuous) InOrder() bool {
	_, ordered := c.waiting.(*fifo)
	return ordered && c.accept == nil && c.gathering == nil && c.ranks == nil
}

// Withdraw implements sim.Withdrawer.
func (c *Continuous) Withdraw(s *sim.Sequence) { c.waiting.remove(s) }

// Schedule implements sim.Scheduler.
func (c *Continuous) Schedule(b *sim.Batch) sim.Decision {
	before := c.waiting.len()
	if !c.decode(b) {
		return sim.Decision{Steps: 1}
	}
	if c.waiting.len() == 0 && len(b.Prefilling()) == 0 && c.startsAtOnce() {
		return c.stands(b)
	}
	if steps := c.spaced(b); steps > 0 {
		return sim.Decision{Steps: steps}
	}
	most := c.limits.TokenBudget - b.DecodeTokens()
	budget := c.resume(b, most)
	c.recordPrompts(b, budget < most)
	if c.waiting.len() > before {
		return sim.Decision{Steps: 1} // someone was preempted: nobody is admitted in the same step
	}
	if c.ranks != nil {
		return sim.Decision{Steps: c.ranks.admit(b, c)}
	}
	if c.gathering != nil {
		if steps := c.gathering.left(b, c); steps > 0 {
			return sim.Decision{Steps: steps}
		}
	}
	waiting := c.waiting.len()
	c.recordPrompts(b, c.admit(b, budget) < budget)
	if c.gathering != nil && c.waiting.len() < waiting {
		c.gathering.begun[b.Lane()] = 0
	}
	return c.stands(b)
}

// startsAtOnce reports whether sequences start as soon as there is room for them.
func (c *Continuous) startsAtOnce() bool {
	return c.interval <= 1 && c.gathering == nil && c.ranks == nil
}

// spaced returns the number of steps until one may compute prompts.
func (c *Continuous) spaced(b *sim.Batch) int64 {
	if c.interval <= 1 || b.Decodes() == 0 || b.Lane() >= len(c.prompted) {
		return 0
	}
	return max(0, c.prompted[b.Lane()]+c.interval-b.Steps())
}

// recordPrompts records the number of the step of b, if it has prompts.
func (c *Continuous) recordPrompts(b *sim.Batch, prompts bool) {
	if c.interval <= 1 || !prompts {
		return
	}
	for len(c.prompted) <= b.Lane() {
		c.prompted = append(c.prompted, -c.interval)
	}
	c.prompted[b.Lane()] = b.Steps()
}

// decode puts the decoding sequences into the step. If memory is short, the sequences last in order
// give way. decode returns false if memory is short and no sequence can give way.
func (c *Continuous) decode(b *sim.Batch) bool {
	for !b.Decode() {
		victim := c.waiting.victim(b)
		if victim == nil {
			return false
		}
		c.giveWay(b, victim)
	}
	return true
}

// giveWay takes the place and the memory from s, which waits again.
func (c *Continuous) giveWay(b *sim.Batch, s *sim.Sequence) {
	if !c.swap || !b.SwapOut(s) {
		b.Preempt(s)
	}
	c.waiting.add(s)
}

// resume spends the budget on prompts that were begun, and returns the rest of the budget.
func (c *Continuous) resume(b *sim.Batch, budget int) int {
	for i := 0; i < len(b.Prefilling()) && budget > 0; {
		s := b.Prefilling()[i]
		n := b.Prefill(s, min(budget, c.limits.ChunkLimit))
		if n == 0 {
			if victim := c.waiting.victim(b); victim != nil {
				c.giveWay(b, victim) // perhaps s itself, which then is not there any more
				if i > 0 && b.Prefilling()[i-1] == s {
					i-- // it came before s
				}
				continue
			}
		}
		budget -= n
		i++
	}
	return budget
}

// admit starts sequences in order while there are places, budget and memory, and returns what is
// left of the budget.
func (c *Continuous) admit(b *sim.Batch, budget int) int {
	for first := true; budget > 0 && c.waiting.len() > 0; first = false {
		limit := min(budget, c.limits.ChunkLimit)
		if c.whole {
			if b.Running() < c.limits.MaxSequences && !c.fitsWhole(b, budget, first) {
				break
			}
			limit = math.MaxInt
		}
		n := c.start(b, limit)
		if n == 0 {
			break
		}
		budget -= n
	}
	return budget
}

// fitsWhole reports whether the prompt of the first waiting sequence is within the budget. The
// first sequence to start in a step may exceed the budget, since it might otherwise never start.
func (c *Continuous) fitsWhole(b *sim.Batch, budget int, first bool) bool {
	s := c.first(b)
	tokens := s.Remaining()
	if tokens > budget && s.Stored == 0 && s.Swapped == 0 {
		tokens -= b.Memory().Match(s)
	}
	return tokens <= budget || first && tokens > c.limits.TokenBudget-c.limits.MaxSequences
}

// first returns the sequence that starts next. In the order of arrival, sequences whose adapter can
// get no slot are passed (vLLM v0.15: vllm/v1/core/sched/scheduler.py, skipped_waiting_requests).
func (c *Continuous) first(b *sim.Batch) *sim.Sequence {
	first := c.waiting.first()
	f, ordered := c.waiting.(*fifo)
	if !ordered || f.len() == 1 {
		return first
	}
	slots, has := b.Memory().(sim.AdapterMemory)
	if !has || !slots.Blocked(first) {
		return first
	}
	for s := range f.queue.All {
		if !slots.Blocked(s) {
			return s
		}
	}
	return first
}

// start puts the first waiting sequence into the batch, with at most limit tokens of its prompt.
// Others may have to give way to it. start returns the number of tokens, which is 0 if there is no
// place or no memory.
func (c *Continuous) start(b *sim.Batch, limit int) int {
	for {
		if b.Running() < c.limits.MaxSequences {
			s := c.first(b)
			if c.accept != nil && !c.accept(b, s) {
				return 0
			}
			if n := b.Prefill(s, limit); n > 0 {
				c.waiting.remove(s)
				return n
			}
		}
		victim := c.waiting.displaced(b)
		if victim == nil {
			return 0
		}
		c.giveWay(b, victim)
	}
}

// stands returns the decision for a step in which all sequences run that can. It holds until a
// sequence finishes, or until one arrives that may come first.
func (c *Continuous) stands(b *sim.Batch) sim.Decision {
	full := b.Running() >= c.limits.MaxSequences
	ignores := c.waiting.ignoresArrivals(full)
	if ignores && !full {
		if slots, has := b.Memory().(sim.AdapterMemory); has {
			ignores = !slots.Blocked(c.first(b)) // else an arrival may pass
		}
	}
	return sim.Decision{Steps: sim.Forever, IgnoreArrivals: ignores}
}

// Limits bound the work of a replica in one step.
type Limits struct {
	// MaxSequences is the largest number of sequences in a batch.
	MaxSequences int
	// TokenBudget is the largest number of tokens in a step, including one for each decoding
	// sequence. It is at least MaxSequences.
	TokenBudget int
	// ChunkLimit is the largest number of prompt tokens of one request in a step; 0 means no limit
	// except the budget.
	ChunkLimit int
}

// resolve checks the limits, and returns them with values for the ones that are not given.
func (l Limits) resolve() (Limits, error) {
	switch {
	case l.MaxSequences < 1:
		return l, fmt.Errorf("max-sequences is %d, want at least 1", l.MaxSequences)
	case l.TokenBudget < l.MaxSequences:
		return l, fmt.Errorf("token-budget is %d, want at least max-sequences (%d), since each "+
			"may decode a token a step", l.TokenBudget, l.MaxSequences)
	case l.ChunkLimit < 0:
		return l, fmt.Errorf("chunk-limit is %d, want 0 (none) or more", l.ChunkLimit)
	case l.ChunkLimit > l.TokenBudget:
		return l, fmt.Errorf("chunk-limit is %d, more than a step may have: want at most "+
			"token-budget (%d), or 0 for no limit", l.ChunkLimit, l.TokenBudget)
	}
	if l.ChunkLimit == 0 {
		l.ChunkLimit = l.TokenBudget
	}
	return l, nil
}
