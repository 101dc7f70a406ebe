package sim

import "fmt"

// launch forms the next step of b and starts it. It returns false if the scheduler leaves the step
// empty.
func (b *Batch) launch() bool {
	r := b.r
	d := b.plan()
	if b.empty() && r.incoming.Len() > 0 {
		// No step runs for which an arrival would have to wait.
		r.reveal(Forever)
		d = b.plan()
	}
	if b.empty() {
		if d.Wake > r.now {
			r.retry = min(r.retry, d.Wake)
		}
		return false
	}
	b.flight = leapState{active: true, start: r.now}
	if b.step.Decodes > 0 {
		b.flight.padding = b.held
	}
	if r.speculator != nil {
		verify := max(r.clock.Duration(&b.step), 1)
		stage := max(r.speculator.Duration(&b.step, verify), verify)
		b.flight.drafting = stage - verify
		b.pipeline(stage)
		b.foresee(d, verify, stage)
	} else if b.decode && len(b.step.Prefill) == 0 && b.ready <= r.now && r.leaper != nil {
		b.leap(d)
	} else {
		b.pipeline(b.r.clock.Duration(&b.step))
	}
	if b.step.Decodes > 0 && r.speculator == nil {
		b.store(1)
	}
	r.planned += b.flight.steps
	if !b.together {
		b.announceRelayed()
	}
	return true
}

// announceRelayed reports when the users of requests with a relayed first token, whose first step
// here has begun, get it.
func (b *Batch) announceRelayed() {
	for i := range b.step.Prefill {
		if c := &b.step.Prefill[i]; c.Last && c.Sequence.relayed {
			b.r.effects = append(b.r.effects, effect{kind: announced, s: c.Sequence,
				time: b.flight.start + b.untilFirstChunk()})
		}
	}
}

// plan asks the scheduler for the next step.
func (b *Batch) plan() Decision {
	b.step.Prefill = b.step.Prefill[:0]
	b.decode, b.reserve, b.retryPrefill, b.fetching = false, 0, false, 0
	d := b.r.scheduler.Schedule(b)
	b.together = d.Together
	b.step.Decodes, b.step.DecodeTokens, b.step.Context = 0, 0, 0
	if b.decode && b.decodes > 0 {
		tokens := b.DecodeTokens()
		b.step.Decodes = b.decodes + b.held
		b.step.DecodeTokens = tokens + b.held
		b.step.Context = b.context + int64(tokens)
	}
	return d
}

func (b *Batch) empty() bool { return b.step.Decodes == 0 && len(b.step.Prefill) == 0 }

// leap starts all decode steps that the decision, the batch, memory and the form of the step time
// allow.
func (b *Batch) leap(d Decision) {
	r, f := b.r, &b.flight
	form := r.leaper.Decode(b.step.Decodes, b.step.Context)
	if !r.alone(b) {
		b.pipeline(form.At(b.step.Context))
		return
	}
	// With no other batch in the pipeline, a step goes through its stages one after another.
	stages := Time(len(r.free))
	f.run.form = Affine{form.Base * stages, form.PerToken * stages, form.Through}
	f.run.context, f.run.n = b.step.Context, int64(b.decodes)
	f.leaping = true
	f.ignoreArrivals = d.IgnoreArrivals && len(r.batches) == 1
	steps := min(max(d.Steps, 1), r.maxLeap, b.finish.next()-b.steps, f.run.through())
	steps = f.run.within(steps, Never-1-f.start)
	if steps == 0 {
		b.failBeyondTime()
		steps = 1
	}
	if s := r.incoming.Front(); s != nil {
		steps = min(steps, max(s.visible-r.planned, 1))
	}
	if b.retryPrefill || b.awaitsFirstToken() {
		steps = 1
	}
	steps = r.memory.Headroom(b.lane, steps)
	if span := max(d.Wake-r.now, 1); d.Wake > 0 && f.run.duration(steps) > span {
		steps = f.run.ending(span)
	}
	r.setSteps(b, steps)
}

// pipeline sends one step through the stages; a stage takes the given time and may still be busy
// with an earlier one. The first begins when the first part of its transfers is there, and ends
// when the last part is computed.
func (b *Batch) pipeline(stage Time) {
	stage = max(stage, 1)
	at, last := b.flight.start, Time(0)
	if b.ready > at {
		parts := b.r.parts
		at = max(at, b.ready-b.fetching+(b.fetching+parts-1)/parts)
		last = later(b.ready, stage/parts)
	}
	for i := range b.r.free {
		at = max(later(max(at, b.r.free[i]), stage), last)
		b.r.free[i] = at
	}
	if at == Never {
		b.failBeyondTime()
	}
	b.flight.steps, b.flight.end = 1, at
}

// failBeyondTime stops the simulation, because the next step would end after the largest Time.
func (b *Batch) failBeyondTime() {
	b.r.err = fmt.Errorf("request %d runs in a step that ends after %.0f days, which is as far "+
		"as simulated time goes",
		b.members.first.ID, Never.Seconds()/86400)
}

// land books the leap that ends now: tokens come out, requests finish, prompts complete.
func (b *Batch) land() {
	r, f := b.r, &b.flight
	f.active = false
	b.report.Gaps = b.report.Gaps[:0]
	decodes := b.step.Decodes - f.padding
	b.book()
	var used int64
	if r.speculator != nil && decodes > 0 {
		used = b.verify()
	} else {
		if decodes > 0 {
			b.decoded()
		}
		used = r.memory.Used()
		for decodes > 0 && b.finish.next() == b.steps {
			b.complete(b.finish.pop())
		}
	}
	for i := range b.step.Prefill {
		b.prefilled(&b.step.Prefill[i])
	}
	if len(b.leaving) > 0 {
		b.expelLeaving()
	}
	if b.held > 0 && b.held == b.running {
		b.deliver(f.end)
	}
	if r.observed {
		b.describe(decodes, used)
	}
}

// describe reports the leap that has ended. It fills the report in place, which is faster than a
// copy.
func (b *Batch) describe(decodes int, used int64) {
	f, l := &b.flight, b.report
	l.Lane, l.Start, l.End, l.Steps = b.lane, f.start, f.end, f.steps
	l.Decodes, l.DecodeTokens, l.Padding = decodes, b.step.DecodeTokens-f.padding, f.padding
	l.Context, l.Form, l.Together = b.step.Context, f.run.form, b.together
	l.Ends, l.Contexts = nil, nil
	if f.run.known != nil && f.steps > 1 {
		l.Ends, l.Contexts = f.run.known.ends[:f.steps], f.run.known.contexts[:f.steps]
	}
	l.Prefill, l.Running, l.Used = b.step.Prefill, b.running, used
	b.r.effects = append(b.r.effects, effect{kind: stepped, leap: l})
}

// decoded advances all that decode by the steps of the leap.
func (b *Batch) decoded() {
	f := &b.flight
	b.recordGaps()
	b.steps += f.steps
	b.context += int64(b.decodes) * f.steps
	b.lastToken = f.end
	if b.r.streamed && !b.together {
		for s := range b.decodingSequences {
			if s.FirstToken <= f.end {
				b.emit(s, f.end)
			}
		}
	}
}

// awaitsFirstToken reports whether a user is still to get the first token of a sequence that
// decodes.
func (b *Batch) awaitsFirstToken() bool {
	if b.r.firstChunk > 0 {
		for _, s := range b.newcomers {
			if s.FirstToken > b.r.now {
				return true
			}
		}
	}
	return false
}

// book adds the leap to the work done.
func (b *Batch) book() {
	f, w := &b.flight, &b.r.result
	w.Busy += f.end - max(f.start, b.r.busyUntil)
	w.Drafting += f.drafting
	b.r.busyUntil = f.end
	w.Steps += f.steps
	w.DecodeTokens += int64(b.step.DecodeTokens-f.padding) * f.steps
	w.PaddingTokens += int64(f.padding) * f.steps
	switch {
	case b.r.speculator != nil:
		if n := int64(b.step.Decodes); n > 0 { // each token of a sequence attends to its context
			context := b.step.Context
			if f.leaping {
				context = f.run.known.sum(f.steps)
			}
			w.DecodeContext += context * int64(b.step.DecodeTokens) / n
		}
	case f.leaping:
		w.DecodeContext += f.run.contexts(f.steps)
	default:
		w.DecodeContext += b.step.Context
	}
	if b.r.speculator == nil {
		w.Sampled += int64(b.step.Decodes-f.padding) * f.steps
	}
	for i := range b.step.Prefill {
		c := &b.step.Prefill[i]
		n := int64(c.New)
		w.PrefillTokens += n
		w.PaddingTokens += int64(c.Padding)
		w.PrefillPairs += n*int64(c.Cached) + n*(n+1)/2
	}
}

// prefilled books a chunk; if it completes the prompt, a token comes out.
func (b *Batch) prefilled(c *Chunk) {
	s := c.Sequence
	s.Stored += c.New
	if !c.Last {
		return
	}
	b.r.result.Sampled++
	goesOn := s.Generated+1 < s.Output && b.r.handsOver
	switch {
	case s.Generated == 0:
		s.FirstToken, s.relayed = b.flight.end, goesOn && b.r.relaysFirstToken
		if b.together && !goesOn {
			s.FirstToken = 0 // until the whole answer is there
		}
		b.effect(prompted, s)
	case s.relayed && b.together:
		s.FirstToken, s.relayed = 0, false
	case s.relayed:
		s.FirstToken, s.relayed = b.flight.start+b.untilFirstChunk(), false
		b.gap(s, b.flight.end)
	default:
		b.gap(s, b.flight.end)
	}
	s.Generated++
	s.LastToken = b.flight.end
	if (!b.together || goesOn) && !s.relayed && s.FirstToken <= b.flight.end {
		b.emit(s, b.flight.end)
	}
	if s.Generated < s.Output && !goesOn {
		b.joinDecodes(s)
	}
	if b.r.listener != nil {
		b.r.listener.Joined(b, s)
	}
	if goesOn {
		b.pass(s)
	} else if s.Generated == s.Output {
		b.complete(s)
	}
}

// untilFirstChunk returns how long the user of a request with a relayed first token waits for the
// replica's first tokens. It is the time of the steps of a first chunk, each taken as long as the
// running step.
func (b *Batch) untilFirstChunk() Time {
	return Time(b.r.firstChunk * float64(b.flight.end-b.flight.start))
}

// launchBatch starts a batch that rests, if the scheduler has a step for one.
func (r *replica) launchBatch() {
	r.reveal(r.planned)
	for range r.batches {
		b := &r.batches[r.first]
		if r.first++; r.first == len(r.batches) {
			r.first = 0
		}
		if b.flight.active {
			continue
		}
		if b.launch() {
			r.retryFrom(r.free[0])
			return
		}
	}
}

// reveal gives the scheduler the arrivals that the given step can include.
func (r *replica) reveal(step int64) {
	for s := r.incoming.Front(); s != nil && s.visible <= step; s = r.incoming.Front() {
		r.incoming.Remove(s)
		r.enqueue(s)
	}
}
