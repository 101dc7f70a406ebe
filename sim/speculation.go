package sim

// DecodeTokens returns the number of tokens that the decoding sequences put into the step under
// construction: one each, and their drafts once Decode has been called.
func (b *Batch) DecodeTokens() int {
	return b.decodes + b.drafted
}

// draft asks for the drafts of all decoding sequences, and stores them with the token from the
// model. A sequence gets no draft if memory has no room for it.
func (b *Batch) draft() bool {
	r := b.r
	r.speculator.Plan(b)
	if b.forecast.active() {
		if b.forecast.proceed(r.now) {
			b.decode = true
			return true
		}
		b.forecast.end(&b.members)
	}
	for s := b.members.first; s != nil; s = s.newer() {
		if !s.decoding {
			continue
		}
		b.drafted -= s.drafted
		s.drafted = r.speculator.Draft(s)
		if n := 1 + s.drafted; n > 1 && (s.hasRoom(n) || extend(r.memory, r.roomy, s, n)) {
			b.drafted += s.drafted
			continue
		}
		s.drafted = 0
		if s.hasRoom(1) || extend(r.memory, r.roomy, s, 1) {
			continue
		}
		if b.held == 0 {
			return false
		}
		b.deliver(r.now) // what a static batch holds back gives way first
		if !r.memory.Extend(s, 1, 0) {
			return false
		}
	}
	b.decode = true
	return true
}

// foresee makes a leap of the step with drafts that b has begun, which takes stage in all and
// verify without drafts, if nothing but decodes is in the step and a forecast tells more steps.
//
// Before, pipeline has made the flight one step, and a forecast that is on has memory for it. It
// must be dropped where the step has no decodes or is of a static batch; foresee ends it then. It
// begins a forecast where b has no other and all sequences that decode can be foreseen.
//
// After, either the flight is one step as before, or it leaps over 1 <= f.steps <= d.Steps steps
// whose lengths the forecast knows, and memory is taken for the first of them alone.
func (b *Batch) foresee(d Decision, verify, stage Time) {
	r, f, k := b.r, &b.flight, b.forecast
	if k == nil {
		return
	}
	if k.on && (b.step.Decodes == 0 || d.Together) {
		k.end(&b.members)
	}
	limit := min(max(d.Steps, 1), r.maxLeap)
	if len(b.step.Prefill) > 0 || b.retryPrefill || b.transfers.ready > r.now ||
		f.end-f.start != stage {
		limit = 1
	}
	if s := r.incoming.Front(); s != nil {
		limit = min(limit, max(s.visible-r.planned, 1))
	}
	ended := b.steps == k.until // another begins, even for a step with prompts
	apart := b.step.Decodes > 0 && b.held == 0 && !d.Together
	if !k.on && (limit < 2 && !ended || !apart || !k.follow(&b.members, r.now)) {
		return
	}
	limit = k.room(r.memory.Capacity()-r.memory.Used(), b.steps,
		min(k.speculator.Foresee(limit), b.finish.next()-b.steps))
	if limit < 2 {
		return
	}
	k.foretell(&b.step, r.clock, limit, f.start, stage, verify)
	f.run.known, f.leaping, f.stored = k, true, 1
	f.ignoreArrivals = d.IgnoreArrivals
	steps := int64(len(k.ends))
	if span := max(d.Wake-r.now, 1); d.Wake > 0 && f.run.duration(steps) > span {
		steps = f.run.ending(span)
	}
	r.setSteps(b, steps)
}

// verify books the steps with drafts that end now: each sequence gets its accepted tokens and one
// more in each, up to the end of its answer. The memory of rejected tokens stays with the sequence
// for the next step. verify returns the units of memory in use before complete sequences leave.
func (b *Batch) verify() (used int64) {
	r, f := b.r, &b.flight
	b.done = b.done[:0]
	if b.forecast.active() {
		b.recordGaps(f.firstEnd(), b.together, b.report)
		b.forecast.confirm(f, &r.result)
		if r.streamed {
			for s := range b.members.decoding {
				r.emit(s, f.end)
			}
		}
	} else {
		b.verifyEach()
	}
	used = r.memory.Used()
	for _, s := range b.done {
		b.complete(s)
	}
	return used
}

// verifyEach books a step with drafts, and asks about each sequence.
func (b *Batch) verifyEach() {
	w, end := &b.r.result, b.flight.end
	b.steps++
	b.lastToken = end
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
		if !b.together {
			b.report.addGap(s, end)
		}
		s.joined, s.LastToken = b.steps, end
		if !b.together && s.FirstToken <= end {
			b.r.emit(s, end)
		}
		if s.Generated == s.Output {
			b.done = append(b.done, s)
		}
	}
	w.Drafted += int64(allDrafted)
	w.Accepted += int64(allAccepted)
	w.Sampled += int64(allEmitted)
	b.context += int64(allEmitted)
}
