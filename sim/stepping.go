package sim

import "fmt"

// launch forms the next step of b and starts it. It returns false if the scheduler leaves the step
// empty.
func (b *Batch) launch() bool {
	r := b.r
	d := b.plan()
	if b.step.empty() && r.incoming.Len() > 0 {
		// No step runs for which an arrival would have to wait.
		r.reveal(Forever)
		d = b.plan()
	}
	if b.step.empty() {
		if d.Wake > r.now {
			r.retry = min(r.retry, d.Wake)
		}
		return false
	}
	b.flight = flight{active: true, start: r.now}
	if b.step.Decodes > 0 {
		b.flight.padding = b.held
	}
	if r.speculator != nil {
		verify := max(r.clock.Duration(&b.step), 1)
		stage := max(r.speculator.Duration(&b.step, verify), verify)
		b.flight.drafting = stage - verify
		r.pipeline(b, stage)
		b.foresee(d, verify, stage)
	} else if len(b.step.Prefill) == 0 && b.transfers.ready <= r.now && r.leaper != nil {
		b.leap(d)
	} else {
		r.pipeline(b, r.clock.Duration(&b.step))
	}
	if b.step.Decodes > 0 && r.speculator == nil {
		b.store(1)
	}
	r.planned += b.flight.steps
	if len(b.step.Prefill) > 0 && !b.together {
		r.effects.announceRelayed(&b.step, b.flight.after(r.firstChunk))
	}
	return true
}

// announceRelayed announces that the users of requests with a relayed first token, whose first step
// here has begun, get it at the given time.
func (l *effects) announceRelayed(step *Step, at Time) {
	for i := range step.Prefill {
		if c := &step.Prefill[i]; c.Last && c.Sequence.relayed {
			l.addTimed(announced, c.Sequence, at)
		}
	}
}

// plan asks the scheduler for the next step.
func (b *Batch) plan() Decision {
	b.step.Prefill = b.step.Prefill[:0]
	b.decode, b.reserve, b.retryPrefill, b.transfers.busy = false, 0, false, 0
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

// leap starts all decode steps that the decision, the batch, memory and the form of the step time
// allow.
func (b *Batch) leap(d Decision) {
	r, f := b.r, &b.flight
	form := r.leaper.Decode(b.step.Decodes, b.step.Context)
	if !r.alone(b) {
		r.pipeline(b, form.At(b.step.Context))
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
		r.err = beyondTime(b.members.first)
		steps = 1
	}
	if s := r.incoming.Front(); s != nil {
		steps = min(steps, max(s.visible-r.planned, 1))
	}
	if b.retryPrefill || r.firstChunk > 0 && b.awaitFirstToken(r.now) {
		steps = 1
	}
	steps = r.memory.Headroom(b.lane, steps)
	if span := max(d.Wake-r.now, 1); d.Wake > 0 && f.run.duration(steps) > span {
		steps = f.run.ending(span)
	}
	r.setSteps(b, steps)
}

// pipeline sends one step of b through the stages; a stage takes the given time and may still be
// busy with an earlier one. The first begins when the first part of its transfers is there, and
// ends when the last part is computed.
func (r *replica) pipeline(b *Batch, stage Time) {
	stage = max(stage, 1)
	at, last, t := b.flight.start, Time(0), &b.transfers
	if t.ready > at {
		parts := r.host.parts
		at = max(at, t.ready-t.busy+(t.busy+parts-1)/parts)
		last = later(t.ready, stage/parts)
	}
	for i := range r.free {
		at = max(later(max(at, r.free[i]), stage), last)
		r.free[i] = at
	}
	if at == Never {
		r.err = beyondTime(b.members.first)
	}
	b.flight.steps, b.flight.end = 1, at
}

// beyondTime returns the error that a step with s would end after the largest Time.
func beyondTime(s *Sequence) error {
	return fmt.Errorf("request %d runs in a step that ends after %.0f days, which is as far "+
		"as simulated time goes", s.ID, Never.Seconds()/86400)
}

// land books the leap that ends now: tokens come out, requests finish, prompts complete.
func (b *Batch) land() {
	r, f := b.r, &b.flight
	f.active = false
	b.report.Gaps = b.report.Gaps[:0]
	decodes := b.step.Decodes - f.padding
	r.book(b)
	var used int64
	if r.speculator != nil && decodes > 0 {
		used = b.verify()
	} else {
		if decodes > 0 {
			b.recordGaps(f.firstEnd(), b.together, b.report)
			b.advance(f.steps, f.end)
			if r.streamed && !b.together {
				for s := range b.members.decoding {
					if s.FirstToken <= f.end {
						r.emit(s, f.end)
					}
				}
			}
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
		r.expelLeaving(b)
	}
	if b.held > 0 && b.held == b.running {
		b.deliver(f.end)
	}
	if r.observed {
		b.report.describe(b, decodes, used)
		r.effects = append(r.effects, effect{kind: stepped, leap: b.report})
	}
}

// describe fills l, in place of a copy, with the leap of b that has ended. decodes is the number of
// sequences that decoded, and used the number of units of memory in use.
func (l *Leap) describe(b *Batch, decodes int, used int64) {
	f := &b.flight
	l.Lane, l.Start, l.End, l.Steps = b.lane, f.start, f.end, f.steps
	l.Decodes, l.DecodeTokens, l.Padding = decodes, b.step.DecodeTokens-f.padding, f.padding
	l.Context, l.Form, l.Together = b.step.Context, f.run.form, b.together
	l.Ends, l.Contexts = nil, nil
	if f.run.known != nil && f.steps > 1 {
		l.Ends, l.Contexts = f.run.known.ends[:f.steps], f.run.known.contexts[:f.steps]
	}
	l.Prefill, l.Running, l.Used = b.step.Prefill, b.running, used
}

// book adds the leap of b that has ended to the work done.
func (r *replica) book(b *Batch) {
	f, w := &b.flight, &r.result
	w.Busy += f.end - max(f.start, r.busyUntil)
	w.Drafting += f.drafting
	r.busyUntil = f.end
	w.Steps += f.steps
	w.DecodeTokens += int64(b.step.DecodeTokens-f.padding) * f.steps
	w.PaddingTokens += int64(f.padding) * f.steps
	switch {
	case r.speculator != nil:
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
	if r.speculator == nil {
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
	s, r, end := c.Sequence, b.r, b.flight.end
	s.Stored += c.New
	if !c.Last {
		return
	}
	r.result.Sampled++
	goesOn := s.Generated+1 < s.Output && r.handsOver
	switch {
	case s.Generated == 0:
		s.FirstToken, s.relayed = end, goesOn && r.relaysFirstToken
		if b.together && !goesOn {
			s.FirstToken = 0 // until the whole answer is there
		}
		seen := s.FirstToken
		if s.relayed {
			seen = 0
		}
		r.effects.addTimed(prompted, s, seen)
	case s.relayed && b.together:
		s.FirstToken, s.relayed = 0, false
	case s.relayed:
		s.FirstToken, s.relayed = b.flight.after(r.firstChunk), false
		b.report.addGap(s, end)
	case !b.together:
		b.report.addGap(s, end)
	}
	s.Generated++
	s.LastToken = end
	if (!b.together || goesOn) && !s.relayed && s.FirstToken <= end {
		r.emit(s, end)
	}
	if s.Generated < s.Output && !goesOn {
		b.joinDecodes(s)
	}
	if r.listener != nil {
		r.listener.Joined(b, s)
	}
	if goesOn {
		r.pass(b, s)
	} else if s.Generated == s.Output {
		b.complete(s)
	}
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
