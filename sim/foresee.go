package sim

// foresee begins or goes on with a forecast, when the step with drafts that b has formed begins.
// Where nothing but decodes is in the step, foresee turns it into a leap.
func (b *Batch) foresee(d Decision, verify, stage Time) {
	r, f, k := b.r, &b.flight, b.forecast
	if k == nil {
		return
	}
	if k.on && (b.step.Decodes == 0 || d.Together) {
		b.settle()
	}
	limit := min(max(d.Steps, 1), r.maxLeap)
	if len(b.step.Prefill) > 0 || b.retryPrefill || b.ready > r.now || f.end-f.start != stage {
		limit = 1
	}
	if s := r.incoming.Front(); s != nil {
		limit = min(limit, max(s.visible-r.planned, 1))
	}
	ended := b.steps == k.until // another begins, even for a step with prompts
	apart := b.step.Decodes > 0 && b.held == 0 && !d.Together
	if !k.on && (limit < 2 && !ended || !apart || !b.follow()) {
		return
	}
	limit = k.room(r.memory.Capacity()-r.memory.Used(), b.steps,
		min(r.foreseeing.Foresee(limit), b.finish.next()-b.steps))
	if limit < 2 {
		return
	}
	k.ends, k.drafting = append(k.ends[:0], stage), append(k.drafting[:0], stage-verify)
	k.contexts = append(k.contexts[:0], b.step.Context)
	first := b.step.Context
	for i := int64(1); i < limit; i++ {
		b.step.Context += int64(b.decodes) + r.foreseeing.Sum(i-1)
		verify = max(r.clock.Duration(&b.step), 1)
		stage = max(r.foreseeing.Next(i, &b.step, verify), verify)
		if stage >= Never-1-f.start-k.ends[i-1] {
			break
		}
		k.ends = append(k.ends, k.ends[i-1]+stage)
		k.contexts = append(k.contexts, b.step.Context)
		k.drafting = append(k.drafting, stage-verify)
	}
	b.step.Context = first
	f.run.known, f.leaping, f.stored = k, true, 1
	f.ignoreArrivals = d.IgnoreArrivals
	steps := int64(len(k.ends))
	if span := max(d.Wake-r.now, 1); d.Wake > 0 && f.run.duration(steps) > span {
		steps = f.run.ending(span)
	}
	r.setSteps(b, steps)
}

// follow begins a forecast with the step that has begun, if all sequences that decode can be
// foreseen.
func (b *Batch) follow() bool {
	r, k := b.r, b.forecast
	drafted := b.drafted / b.decodes
	for s := range b.decodingSequences {
		if s.drafted != drafted || !b.foreseeable(s) {
			return false
		}
	}
	if !r.foreseeing.Begin(drafted) {
		return false
	}
	k.on, k.drafted, k.origin, k.begun = true, drafted, b.steps, b.steps+1
	k.until = b.steps + r.foreseeing.Foresee(int64(len(k.growth)))
	clear(k.growth[:])
	b.newcomers = b.newcomers[:0]
	for s := range b.decodingSequences {
		b.look(s, true)
		if s.LastToken != b.lastToken {
			b.newcomers = append(b.newcomers, s)
		}
	}
	return true
}

// foreseeable reports whether s, which decodes, can advance without visits.
func (b *Batch) foreseeable(s *Sequence) bool {
	return s.Preemptions == 0 && s.FirstToken <= b.r.now
}

// goOn puts the foreseen sequences, with their drafts and with memory for them, into the step under
// construction, and looks at newcomers. It returns false, and changes nothing, if sequences have to
// be asked about one by one.
func (b *Batch) goOn() bool {
	r, k := b.r, b.forecast
	fresh, stored, units := 0, b.context, int64(0)
	for _, s := range b.newcomers {
		if !s.foreseen {
			if !b.foreseeable(s) {
				return false
			}
			fresh, stored = fresh+1, stored-int64(s.Stored)
			units += r.memory.Units(1 + k.drafted) // at most
		}
	}
	if at := b.steps - k.origin; k.begun == b.steps && at < int64(len(k.growth)) {
		units += k.growth[at]
	}
	if units > r.memory.Capacity()-r.memory.Used() ||
		!r.foreseeing.Repeat(b.decodes-fresh, stored) {
		return false
	}
	b.storeDrafts(b.steps + 1)
	for _, s := range b.newcomers {
		if !s.foreseen {
			s.drafted = r.speculator.Draft(s)
			b.drafted += s.drafted
			b.extend(s, 1+s.drafted)
			b.look(s, false)
		}
	}
	return true
}

// confirm books steps of foreseen sequences. It returns the units of memory in use before sequences
// that are complete leave.
func (b *Batch) confirm() (used int64) {
	r, f, k := b.r, &b.flight, b.forecast
	b.recordGaps()
	accepted := r.foreseeing.Sum(f.steps - 1)
	if f.leaping {
		accepted += k.contexts[f.steps-1] - k.contexts[0] - (f.steps-1)*int64(b.decodes)
		r.foreseeing.Advance(f.steps + f.cutOff)
		for _, t := range k.drafting[1:f.steps] {
			r.result.Drafting += t
		}
	}
	all := f.steps * int64(b.decodes)
	r.result.Drafted += all * int64(k.drafted)
	r.result.Accepted += accepted
	b.steps += f.steps
	b.lastToken = f.end
	all += accepted
	b.done = b.done[:0]
	for b.finish.next() == b.steps {
		s := b.finish.pop()
		s.finishing = false
		all -= b.settleOne(s)
		b.done = append(b.done, s)
	}
	r.result.Sampled += all
	b.context += all
	if r.streamed {
		for s := range b.decodingSequences {
			b.emit(s, f.end)
		}
	}
	used = r.memory.Used()
	for _, s := range b.done {
		b.complete(s)
	}
	return used
}
