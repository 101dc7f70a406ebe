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

// verify books steps with drafts: each sequence gets its accepted tokens and one more a step, up to
// the end of its answer. The memory of rejected tokens stays with the sequence for the next step.
// verify returns the units of memory in use before sequences that are complete leave.
func (b *Batch) verify() (used int64) {
	w, f := &b.r.result, &b.flight
	steps, first := f.steps, f.end
	if f.leaping {
		first = f.start + f.run.step(0)
		b.advanceDrafts(steps + f.cutOff)
	}
	b.verified += steps
	b.done = b.done[:0]
	allDrafted, allAccepted, allEmitted := 0, 0, 0
	for s := b.members.first; s != nil; s = s.newer() {
		if !s.decoding {
			continue
		}
		accepted, drafted := 0, int(steps)*s.drafted
		switch {
		case f.leaping:
			accepted = b.r.foreseeing.Take(s, steps)
			b.extend(s, int(steps)+accepted) // what the last step needs at least
			if s.Stored+int(steps)+accepted+s.drafted > s.room {
				b.extend(s, int(steps+b.r.foreseeing.Known(s, steps-1))+s.drafted)
			}
		case drafted > 0:
			accepted = b.r.speculator.Accept(s, drafted)
		}
		s.Drafted += drafted
		s.Accepted += accepted
		emitted := min(int(steps)+accepted, s.Output-s.Generated)
		s.Generated += emitted
		s.Stored += emitted
		allDrafted, allAccepted, allEmitted = allDrafted+drafted, allAccepted+accepted,
			allEmitted+emitted
		b.gap(s, first)
		s.LastToken = f.end
		if !b.together && s.FirstToken <= f.end {
			b.emit(s, f.end)
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

// gap notes the time between the token of s that comes out now and the one before it. Tokens that
// reach the user together come as one, and have no gap between them: several tokens of a step, the
// tokens that come out while the first one is held back, and whole answers of static batches.
func (b *Batch) gap(s *Sequence, now Time) {
	span := now - max(s.LastToken, s.FirstToken)
	if span <= 0 || b.together {
		return
	}
	if k := len(b.report.Gaps); k > 0 && b.report.Gaps[k-1].Span == span {
		b.report.Gaps[k-1].Count++
		return
	}
	b.report.Gaps = append(b.report.Gaps, Gap{Span: span, Count: 1})
}

// reserveFirstSteps takes memory for the first steps of a leap with drafts, which have begun.
func (b *Batch) reserveFirstSteps(steps int64) {
	for s := b.members.first; s != nil; s = s.newer() {
		if s.Stored+int(steps)*(1+s.drafted) <= s.room {
			continue // there is room even if all drafts are accepted
		}
		b.extend(s, int(steps+b.r.foreseeing.Known(s, steps-1))+s.drafted)
	}
	b.flight.stored = steps
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

// advanceDrafts counts the drafts of the steps of a leap that have begun, without the first, which
// is counted.
func (b *Batch) advanceDrafts(begun int64) {
	b.r.foreseeing.Advance(begun)
	for i := int64(1); i < begun; i++ {
		b.r.result.Drafting += b.foresight.drafting[i]
	}
}
