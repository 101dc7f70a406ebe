package sim

// Batch is the set of sequences that a replica runs together, and the next step of it that a
// Scheduler forms. A replica has one batch, or one for each stage of its pipeline.
type Batch struct {
	r    *replica
	lane int

	// The running sequences, oldest first; of them, those whose prompt is not complete, and how
	// many a static batch holds back.
	head, tail *Sequence
	running    int
	prefilling []*Sequence
	held       int

	// The decoding sequences: all advance together, one token for each of the steps counted here.
	steps   int64
	decodes int
	context int64 // tokens stored for them in total
	finish  finishHeap

	// Token times: the decoding sequences had their last token at lastToken, but for the newcomers
	// since then.
	lastToken Time
	newcomers []*Sequence
	// Sequences that end without an answer when the running step ends.
	leaving []*Sequence

	// The step under construction, then under way.
	step         Step
	decode       bool
	together     bool
	reserve      int64 // units of memory that Prefill leaves free
	retryPrefill bool  // limits the leap to one step: a refused Prefill may succeed in the next
	ready        Time  // when its transfers from and to host memory are done
	flight       flight
	gaps         []Gap
	leaped       Leap // the last flight, where it is observed
}

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

// Steps returns the number of steps in which the batch has decoded so far. With a Speculator they
// are not counted.
func (b *Batch) Steps() int64 {
	if f := &b.flight; f.active && f.leaping { // asked while another batch of the pipeline plans
		return b.steps + f.run.completed(b.r.now-f.start)
	}
	return b.steps
}

// Context returns the number of tokens stored for the decoding sequences together.
func (b *Batch) Context() int64 { return b.context }

// Oldest and Newest return the sequence that entered the batch first and last, or nil.
func (b *Batch) Oldest() *Sequence { return b.head }

// Newest returns the sequence that entered the batch last, or nil.
func (b *Batch) Newest() *Sequence { return b.tail }

// All yields the sequences in the batch, oldest first. The batch must not change meanwhile.
func (b *Batch) All(yield func(*Sequence) bool) {
	for s := b.head; s != nil; s = s.newer {
		if !yield(s) {
			return
		}
	}
}

// Prefilling returns the sequences in the batch whose prompt is not complete, oldest first. The
// slice is valid until the next Prefill or Preempt.
func (b *Batch) Prefilling() []*Sequence { return b.prefilling }

// Decode puts all decoding sequences into the step. It returns false, and does nothing, where
// memory lacks room for one more token each: then preempt one and try again.
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

// Prefill puts the next tokens of s's prompt into the step, limit at most, and returns how many; s
// enters the batch if it waited. 0 means that memory is short, and nothing was done. The cached
// prefix of a newcomer costs nothing; a sequence that was paused or swapped out goes on with what
// it stored, which leaves one token to compute where it had begun to decode.
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
			// Its cached prefix may be overwritten, and the first chunk with a shorter one takes
			// less memory.
			b.retryPrefill = b.retryPrefill || s.Stored > 0 && limit < s.Stored+s.Remaining()
			s.Stored = 0
		}
		return 0
	}
	if newcomer {
		s.Cached = s.Stored
		b.r.result.CachedTokens += int64(s.Cached)
		b.fetch()
	}
	if s.Swapped > 0 {
		b.swapIn(s)
	}
	if paused {
		b.r.unpause(s)
	}
	if s.batch == nil {
		b.admit(s)
	}
	b.step.Prefill = append(b.step.Prefill, Chunk{})
	c := &b.step.Prefill[len(b.step.Prefill)-1] // filled in place, which is quicker than copied
	c.Sequence, c.New, c.Cached, c.Last = s, n, s.Stored, n == s.Remaining()
	return n
}

// Pad lengthens each chunk of the step to the given number of tokens, as static batches do. The
// padding is computed for nothing.
func (b *Batch) Pad(tokens int) {
	for i := range b.step.Prefill {
		c := &b.step.Prefill[i]
		c.Padding = max(0, tokens-c.New)
	}
}

// admit gives s, which waited, a place in the batch.
func (b *Batch) admit(s *Sequence) {
	s.batch = b
	s.admitted = b.r.admissions
	b.r.admissions++
	if s.Preemptions == 0 && s.Generated == 0 {
		s.Scheduled = b.r.now
	}
	s.older, s.newer = b.tail, nil
	if b.tail == nil {
		b.head = s
	} else {
		b.tail.newer = s
	}
	b.tail = s
	b.running++
	b.prefilling = append(b.prefilling, s)
	if b.r.listener != nil {
		b.r.listener.Entered(b, s)
	}
}

// leave takes s out of the batch. Its memory is another matter.
func (b *Batch) leave(s *Sequence, gone bool) {
	if b.r.listener != nil {
		b.r.listener.Left(b, s, gone)
	}
	b.stopProgress(s)
	if s.older == nil {
		b.head = s.newer
	} else {
		s.older.newer = s.newer
	}
	if s.newer == nil {
		b.tail = s.older
	} else {
		s.newer.older = s.older
	}
	s.older, s.newer, s.batch = nil, nil, nil
	b.running--
}

// stopProgress takes s out of the sequences that decode or prefill. It keeps its place in the
// batch.
func (b *Batch) stopProgress(s *Sequence) {
	if !s.decoding {
		b.prefilling = without(b.prefilling, s)
		return
	}
	if s.advance() > 0 {
		s.LastToken = b.lastToken
	} else {
		b.newcomers = without(b.newcomers, s)
	}
	s.Generated, s.Stored = s.Progress(), s.Context()
	b.context -= int64(s.Stored)
	b.decodes--
	s.decoding = false
	s.epoch++
	if b.r.speculator == nil {
		b.r.memory.Leave(b.lane, s)
	}
}

// joinDecodes adds s, whose prompt is complete, to the decoding sequences.
func (b *Batch) joinDecodes(s *Sequence) {
	b.prefilling = without(b.prefilling, s)
	s.joined = b.steps
	s.decoding = true
	b.decodes++
	b.context += int64(s.Stored)
	if b.r.speculator != nil {
		return // such sequences grow one by one
	}
	b.finish.push(b.steps+int64(s.Output-s.Generated), s)
	b.newcomers = append(b.newcomers, s)
	b.r.memory.Join(b.lane, s)
}

// decodingSequences yields the decoding sequences, oldest first.
func (b *Batch) decodingSequences(yield func(*Sequence) bool) {
	for s := b.head; s != nil; s = s.newer {
		if s.decoding && !yield(s) {
			return
		}
	}
}

func without(list []*Sequence, s *Sequence) []*Sequence {
	for i, other := range list {
		if other == s {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}
