package sim

// DecodeTokens returns the number of tokens that the decoding sequences put into the step under
// construction: one each, and their drafts once Decode has been called.
func (b *Batch) DecodeTokens() int {
	return b.decodes + b.drafted
}

// draft asks for the drafts of all decoding sequences, and stores them with the token from the
// model. A sequence gets no draft if memory has no room for it.
func (b *Batch) draft() bool {
	spec := b.r.speculator
	spec.Plan(b)
	if b.forecast.active() {
		if b.goOn() {
			b.decode = true
			return true
		}
		b.settle()
	}
	for s := b.members.first; s != nil; s = s.newer() {
		if !s.decoding {
			continue
		}
		b.drafted -= s.drafted
		s.drafted = spec.Draft(s)
		if s.drafted > 0 && b.extend(s, 1+s.drafted) {
			b.drafted += s.drafted
			continue
		}
		s.drafted = 0
		if !b.extend(s, 1) && !b.makeRoom(s) {
			return false
		}
	}
	b.decode = true
	return true
}

// makeRoom stores one more token of s where a static batch holds back complete sequences, which
// give way first.
func (b *Batch) makeRoom(s *Sequence) bool {
	if b.held == 0 {
		return false
	}
	b.deliver(b.r.now)
	return b.r.memory.Extend(s, 1, 0)
}

// verify books a step with drafts: each sequence gets its accepted tokens and one more, up to the
// end of its answer. The memory of rejected tokens stays with the sequence for the next step.
// verify returns the units of memory in use before sequences that are complete leave.
func (b *Batch) verify() (used int64) {
	if b.forecast.active() {
		return b.confirm()
	}
	w, end := &b.r.result, b.flight.end
	b.steps++
	b.lastToken = end
	b.done = b.done[:0]
	allDrafted, allAccepted, allEmitted := 0, 0, 0
	for s := b.members.first; s != nil; s = s.newer() {
		if !s.decoding {
			continue
		}
		accepted := 0
		if s.drafted > 0 {
			accepted = b.r.speculator.Accept(s, s.drafted)
		}
		s.Drafted += s.drafted
		s.Accepted += accepted
		emitted := min(1+accepted, s.Output-s.Generated)
		s.Generated += emitted
		s.Stored += emitted
		allDrafted, allAccepted, allEmitted = allDrafted+s.drafted, allAccepted+accepted,
			allEmitted+emitted
		b.gap(s, end)
		s.joined, s.LastToken = b.steps, end
		if !b.together && s.FirstToken <= end {
			b.emit(s, end)
		}
		if s.Generated == s.Output {
			b.done = append(b.done, s)
		}
	}
	w.Drafted += int64(allDrafted)
	w.Accepted += int64(allAccepted)
	w.Sampled += int64(allEmitted)
	b.context += int64(allEmitted)
	used = b.r.memory.Used()
	for _, s := range b.done {
		b.complete(s)
	}
	return used
}

// extend stores n more tokens of s, which decodes, where memory has room for them. It asks the
// memory only if s has no room left.
func (b *Batch) extend(s *Sequence, n int) bool {
	if s.Stored+n <= s.room {
		return true
	}
	if !b.r.memory.Extend(s, n, 0) {
		return false
	}
	if b.r.roomy != nil && s.Preemptions == 0 {
		s.room = int(b.r.roomy.Room(s, s.Stored+n))
	}
	return true
}
