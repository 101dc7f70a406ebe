package batching

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Constants of SGLang (python/sglang/srt/managers, v0.4): how the new-token ratio falls, and how
// requests are compared.
const (
	sglangLeastRatio = 0.14 // of the initial ratio (default_min_new_token_ratio_factor)
	// from the initial to the least ratio (default_new_token_ratio_decay_steps)
	sglangDecaySteps   = 600
	sglangAhead        = 20   // steps for which a retraction makes room (retract_decode_steps)
	sglangLongestQueue = 128  // beyond which prefixes are not compared (schedule_policy.py)
	sglangClip         = 4096 // most output tokens counted for a request (CLIP_MAX_NEW_TOKENS)
)

// SGLang is the scheduler of SGLang. A step either computes prompts or decodes, and prompts come
// first. The sequence that is first in order starts, but only if memory is likely to last. For
// this, a share of the output that others may still generate counts as used. This share, the
// new-token ratio, falls with every step. When memory runs out, the ratio rises, and the sequences
// with the least output are retracted and computed again.
type SGLang struct {
	Continuous
	waiting   longestPrefix
	order     SGLangOrder
	initial   float64      // the new-token ratio at first, in (0, 1]
	maxOutput int          // tokens of an answer for which room is asked, see NewSGLang
	lanes     []sglangLane // by number of the lane
	// full is true if memory did not suffice for another request. It stays true until a sequence
	// leaves.
	full bool
	// interval is the number of decode steps between two looks at the arrivals, at least 1. unseen
	// are the requests that arrived since the last look, which wait as others do.
	interval int64
	unseen   sim.Queue
}

// SGLangOrder is the order in which SGLang starts waiting sequences (schedule_policy).
type SGLangOrder uint8

const (
	// SGLangByArrival starts the sequence that arrived first (fcfs).
	SGLangByArrival SGLangOrder = iota
	// SGLangByPrefix starts the longest cached prefix first (lpm; Zheng et al., NeurIPS 2024,
	// section 3).
	SGLangByPrefix
)

// sglangLane is the scheduler's state of one batch.
type sglangLane struct {
	// The new-token ratio was anchor, in [0, 1], when the batch had decoded for since steps.
	anchor float64
	since  int64
	// looked is the number of steps that the batch had decoded when the scheduler last looked at
	// the arrivals. prompted reports whether the last step computed prompts, after which the
	// scheduler looks again.
	looked   int64
	prompted bool
	// output is the sum of SGLang.output over the sequences in the batch, and prompts the number of
	// prompt tokens of the decoding ones. long counts the sequences whose output is above
	// sglangClip, so that only a visit to each tells what is to come. Entered, Joined and Left
	// count.
	output, prompts, long int
}

// NewSGLang returns the scheduler that starts sequences in the given order, for at most
// maxSequences at once (max_running_requests) and chunk prompt tokens a step
// (chunked_prefill_size). ratio is the initial new-token ratio in (0, 1], 0.7
// by default. maxOutput is the number of output tokens that every request asks room for
// (max_new_tokens); 0 means that it asks for just what it will generate. While sequences decode,
// the scheduler looks for new requests once in interval steps (scheduler_recv_interval), and after
// each step with prompts.
func NewSGLang(order SGLangOrder, maxSequences, chunk int, ratio float64,
	maxOutput, interval int) (*SGLang, error) {
	switch {
	case maxSequences < 1:
		return nil, fmt.Errorf("max-sequences is %d, want at least 1", maxSequences)
	case chunk < 1:
		return nil, fmt.Errorf("chunk is %d, want at least 1", chunk)
	case !(ratio > 0 && ratio <= 1):
		return nil, fmt.Errorf("new-token-ratio is %g, want more than 0 and at most 1", ratio)
	case maxOutput < 0:
		return nil, fmt.Errorf("max-output is %d, want 0 (what is generated) or more", maxOutput)
	case interval < 1:
		return nil, fmt.Errorf("receive-interval is %d, want at least 1", interval)
	}
	g := &SGLang{order: order, initial: ratio, maxOutput: maxOutput, interval: int64(interval)}
	g.Continuous = Continuous{
		limits:  Limits{MaxSequences: maxSequences, TokenBudget: chunk, ChunkLimit: chunk},
		waiting: &g.waiting}
	return g, nil
}

// Schedule implements sim.Scheduler.
func (g *SGLang) Schedule(b *sim.Batch) sim.Decision {
	for len(g.lanes) <= b.Lane() {
		g.lanes = append(g.lanes, sglangLane{anchor: g.initial})
	}
	if b.Running() == 0 {
		g.setRatio(b, g.initial)
		g.full = false
	}
	g.receive(b)
	l := &g.lanes[b.Lane()]
	budget := g.admitLikely(b, g.resume(b, g.limits.TokenBudget))
	if l.prompted = budget < g.limits.TokenBudget; l.prompted {
		return sim.Decision{Steps: 1}
	}
	if !b.Decode() {
		g.retract(b)
		return sim.Decision{Steps: 1}
	}
	stands := sim.Decision{Steps: sim.Forever, IgnoreArrivals: g.full ||
		b.Running() >= g.limits.MaxSequences}
	if g.interval > 1 {
		stands.Steps, stands.IgnoreArrivals = l.looked+g.interval-b.Steps(), true
	}
	return stands
}

// receive notes the requests that arrived, if the scheduler looks for them in this step.
func (g *SGLang) receive(b *sim.Batch) {
	l := &g.lanes[b.Lane()]
	if g.interval == 1 || b.Running() == 0 || l.prompted || b.Steps()-l.looked >= g.interval {
		l.looked = b.Steps()
		for s := g.unseen.Front(); s != nil; s = g.unseen.Front() {
			g.unseen.Remove(s)
			g.waiting.add(s)
		}
	}
}

// Enqueue implements sim.Scheduler.
func (g *SGLang) Enqueue(s *sim.Sequence) {
	if s.Preemptions > 0 {
		g.Continuous.Enqueue(s)
	} else {
		g.unseen.Push(s)
	}
}

// Waiting implements sim.Scheduler.
func (g *SGLang) Waiting() int { return g.Continuous.Waiting() + g.unseen.Len() }

// Withdraw implements sim.Withdrawer.
func (g *SGLang) Withdraw(s *sim.Sequence) {
	for other := range g.unseen.All {
		if other == s {
			g.unseen.Remove(s)
			return
		}
	}
	g.Continuous.Withdraw(s)
}

// admitLikely starts the sequences for which memory will likely suffice to their end, and returns
// the rest of the budget.
func (g *SGLang) admitLikely(b *sim.Batch, budget int) int {
	m := b.Memory()
	if g.order == SGLangByPrefix {
		g.waiting.memory = m
	}
	taken := -1.0 // by the output to come, in tokens
	for budget > 0 && !g.full && g.waiting.len() > 0 && b.Running() < g.limits.MaxSequences {
		s := g.waiting.first()
		if taken < 0 {
			taken = g.ratio(b) * float64(g.allToCome(b))
		}
		need := float64(s.Remaining()-m.Match(s)+g.toCome(s)) + taken
		if b.Running() > 0 && m.Used()+m.Units(int(need)) >= m.Capacity() {
			g.full = true
			break
		}
		n := b.Prefill(s, budget)
		if n == 0 {
			g.full = true
			break
		}
		g.waiting.remove(s)
		taken += float64(g.toCome(s))
		budget -= n
	}
	return budget
}

// ratio returns the new-token ratio of b.
func (g *SGLang) ratio(b *sim.Batch) float64 {
	l := g.lanes[b.Lane()]
	fall := g.initial * (1 - sglangLeastRatio) / sglangDecaySteps
	return max(l.anchor-fall*float64(b.Steps()-l.since), g.initial*sglangLeastRatio)
}

func (g *SGLang) setRatio(b *sim.Batch, ratio float64) {
	l := &g.lanes[b.Lane()]
	l.anchor, l.since = ratio, b.Steps()
}

// output returns the number of tokens that s may generate in all, toCome how many of them are still
// to come, as far as they count.
func (g *SGLang) output(s *sim.Sequence) int { return max(s.Output, g.maxOutput) }
func (g *SGLang) toCome(s *sim.Sequence) int { return min(g.output(s)-s.Progress(), sglangClip) }

// allToCome returns the number of tokens that the sequences in b may still generate.
func (g *SGLang) allToCome(b *sim.Batch) int {
	l, n := &g.lanes[b.Lane()], 0
	if l.long > 0 {
		for s := range b.All {
			n += g.toCome(s)
		}
		return n
	}
	return l.output - g.progress(b)
}

// progress returns the number of tokens that the sequences in b have generated. A decoding sequence
// has stored all of them except the last.
func (g *SGLang) progress(b *sim.Batch) int {
	n := int(b.Context()) - g.lanes[b.Lane()].prompts + b.Decodes()
	for _, s := range b.Prefilling() {
		n += s.Generated
	}
	return n
}

// retract preempts the sequences with the least output, and of equals those with the longest
// prompt, until there is memory for some steps. Then it sets the ratio to the value that would have
// sufficed.
func (g *SGLang) retract(b *sim.Batch) {
	m := b.Memory()
	for b.Decodes() > 1 && m.Headroom(b.Lane(), sglangAhead) < sglangAhead || !b.Decode() {
		var victim *sim.Sequence
		for s := range b.Preemptible {
			if victim == nil || s.Progress() < victim.Progress() ||
				s.Progress() == victim.Progress() && s.Prompt > victim.Prompt {
				victim = s
			}
		}
		if victim == nil {
			return
		}
		g.waiting.add(b.Preempt(victim))
	}
	progress := g.progress(b) + sglangAhead*b.Running()
	g.setRatio(b, min(1, float64(progress)/float64(max(g.lanes[b.Lane()].output, 1))))
}

// Entered implements sim.Listener.
func (g *SGLang) Entered(b *sim.Batch, s *sim.Sequence) { g.count(b, s, 1) }

// Joined implements sim.Listener.
func (g *SGLang) Joined(b *sim.Batch, s *sim.Sequence) {
	if s.Decoding() {
		g.lanes[b.Lane()].prompts += s.Prompt
	}
}

// Left implements sim.Listener.
func (g *SGLang) Left(b *sim.Batch, s *sim.Sequence, _ bool) {
	g.full = false
	g.count(b, s, -1)
	if s.Decoding() {
		g.lanes[b.Lane()].prompts -= s.Prompt
	}
}

// count adds s to the sequences in b, or takes it away.
func (g *SGLang) count(b *sim.Batch, s *sim.Sequence, sign int) {
	l, n := &g.lanes[b.Lane()], g.output(s)
	l.output += sign * n
	if n > sglangClip {
		l.long += sign
	}
}

// longestPrefix orders sequences by cached prefix, the longest first. Of equals, the sequence that
// arrived first comes first. If many wait, or memory is nil, it is the order of arrival.
type longestPrefix struct {
	fifo
	memory sim.Memory
}

func (l *longestPrefix) first() *sim.Sequence {
	best := l.queue.Front()
	if l.memory == nil || l.queue.Len() == 1 || l.queue.Len() > sglangLongestQueue {
		return best
	}
	longest := l.memory.Match(best)
	for s := range l.queue.All {
		if n := l.memory.Match(s); n > longest {
			best, longest = s, n
		}
	}
	return best
}
