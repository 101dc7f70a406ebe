package sim

// Now returns the time at which the step under construction begins.
func (b *Batch) Now() Time { return b.r.now }

// Lane returns the number of this batch within its replica: 0 unless there is a pipeline.
func (b *Batch) Lane() int { return b.lane }

// Memory returns the memory of the replica, which its batches share.
func (b *Batch) Memory() Memory { return b.r.memory }

// Running returns the number of sequences in the batch.
func (b *Batch) Running() int { return b.running }

// Decodes returns the number of sequences in the batch that decode.
func (b *Batch) Decodes() int { return b.decodes }

// Steps returns the number of steps in which the batch has decoded so far.
func (b *Batch) Steps() int64 {
	if f := &b.flight; f.active && f.leaping { // asked while another batch of the pipeline plans
		return b.steps + f.run.completed(b.r.now-f.start)
	}
	return b.steps
}

// Context returns the number of tokens stored for all decoding sequences together.
func (b *Batch) Context() int64 { return b.context }

// Oldest and Newest return the sequence that entered the batch first and last, or nil.
func (b *Batch) Oldest() *Sequence { return b.members.first }

// Newest returns the sequence that entered the batch last, or nil.
func (b *Batch) Newest() *Sequence { return b.members.last }

// All yields the sequences in the batch, oldest first. The batch must not change meanwhile.
func (b *Batch) All(yield func(*Sequence) bool) {
	for s := b.members.first; s != nil; s = s.newer() {
		if !yield(s) {
			return
		}
	}
}

// Prefilling returns the sequences in the batch whose prompt is not complete, oldest first. The
// slice is valid until the next Prefill or Preempt.
func (b *Batch) Prefilling() []*Sequence { return b.prefilling }

// Decode puts all decoding sequences into the step. It returns false, and does nothing, if memory
// has no room for one more token of each. The scheduler can then preempt a sequence and call Decode
// again.
func (b *Batch) Decode() bool {
	if b.decodes == 0 {
		return true
	}
	if b.r.speculator != nil {
		return b.draft()
	}
	if b.r.memory.Headroom(b.lane, 1) < 1 {
		if b.held == 0 {
			return false
		}
		b.deliver(b.r.now) // what a static batch holds back gives way first
		return b.Decode()
	}
	b.decode = true
	return true
}

// Reserve makes the following calls of Prefill in this step leave the given number of units of
// memory free.
func (b *Batch) Reserve(units int64) { b.reserve = units }

// Prefill puts the next tokens of s's prompt into the step, at most limit of them, and returns
// their number. If s waited, it enters the batch. Prefill returns 0, and does nothing, if memory is
// short. The cached prefix of a newcomer costs nothing. A sequence that was paused or swapped out
// continues with the tokens that it stored; if it had begun to decode, one token is left to
// compute.
//
// Call Decode before Prefill: memory for the tokens of the decoding sequences comes first.
func (b *Batch) Prefill(s *Sequence, limit int) int {
	m := b.r.memory
	paused := s.batch == nil && s.Stored > 0
	newcomer := s.batch == nil && !paused && s.Swapped == 0
	if newcomer {
		s.Stored = m.Match(s)
	}
	n := min(s.Remaining(), limit)
	reserve := b.reserve
	if b.decode {
		reserve += m.Growth(b.lane, 1)
	}
	if n <= 0 || !m.Extend(s, s.Swapped+n, reserve) {
		if newcomer {
			// The cached prefix may be overwritten, and a first chunk with a shorter prefix takes
			// less memory.
			b.retryPrefill = b.retryPrefill || s.Stored > 0 && limit < s.Stored+s.Remaining()
			s.Stored = 0
		}
		return 0
	}
	if newcomer && !s.matched {
		s.matched, s.Cached = true, s.Stored
		w := &b.r.result
		w.Admitted++
		w.AdmittedTokens += int64(s.Prompt)
		w.CachedTokens += int64(s.Cached)
	}
	if s.batch == nil && !paused {
		b.r.fetch(&b.transfers)
	}
	if s.Swapped > 0 {
		b.r.swapIn(s, &b.transfers)
	}
	if paused {
		b.r.paused.take(s)
	}
	if s.batch == nil {
		b.admit(s)
	}
	b.step.Prefill = append(b.step.Prefill, Chunk{})
	c := &b.step.Prefill[len(b.step.Prefill)-1] // filled in place, which is quicker than copied
	c.Sequence, c.New, c.Cached, c.Last = s, n, s.Stored, n == s.Remaining()
	if b.r.encodings != nil {
		c.Encoded = b.r.encodings.Encoded(s, n)
	}
	return n
}

// Pad lengthens each chunk of the step to the given number of tokens, as static batches do. The
// computation of the padding is wasted.
func (b *Batch) Pad(tokens int) {
	for i := range b.step.Prefill {
		c := &b.step.Prefill[i]
		c.Padding = max(0, tokens-c.New)
	}
}
