package sim

import "fmt"

// accept takes in a request that arrives now.
func (r *replica) accept(s *Sequence, now Time) {
	r.now = now
	r.slots.seat(s)
	s.visible = r.planned
	hidden := false // until a step is planned that can see s
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active {
			r.interrupt(b, s)
			hidden = r.lookahead > 0
		}
	}
	if hidden || r.incoming.Len() > 0 {
		r.incoming.Push(s)
	} else {
		r.enqueue(s)
	}
	r.retryFrom(now)
	r.schedule()
}

// land ends the leaps that end now. launch follows.
func (r *replica) land(now Time) {
	r.now = now
	r.account(now)
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active && b.flight.end == now {
			b.land()
			r.retry = min(r.retry, max(now, r.free[0]))
		}
	}
}

// launch begins the leaps that can begin now.
func (r *replica) launch(now Time) {
	if r.retry <= now {
		r.retry = Never
		r.launchBatch()
	}
	r.schedule()
}

// withdraw takes s out of r. It returns false if s is in a batch that runs a step; then s leaves
// when the step ends.
func (r *replica) withdraw(s *Sequence, now Time) bool {
	r.now = now
	b := r.batchOf(s)
	if b != nil && b.flight.active {
		r.cut(b)
		b.leaving = append(b.leaving, s)
		r.schedule()
		return false
	}
	r.detach(s)
	if b != nil && b.held > 0 && b.held == b.running {
		b.deliver(r.now)
	}
	r.replan(now)
	return true
}

// batchOf returns the batch of r in which s runs; nil while s waits.
func (r *replica) batchOf(s *Sequence) *Batch {
	if s.batch == nil {
		return nil
	}
	return &r.batches[s.batch.lane]
}

// detach takes s, which is in no running step, out of r, and releases all that s holds there.
func (r *replica) detach(s *Sequence) {
	r.account(r.now)
	switch {
	case s.batch != nil:
		r.expel(r.batchOf(s), s)
		return
	case s.queue == &r.incoming:
		r.incoming.Remove(s)
	case r.withdrawer != nil:
		r.withdrawer.Withdraw(s)
	case s.queue != nil:
		s.queue.Remove(s)
	default:
		r.err = fmt.Errorf("the scheduler %T cannot give back a request that waits, which "+
			"timeouts, cancellations and failures need",
			r.scheduler)
		return
	}
	if s.Stored > 0 { // it was paused
		r.paused.take(s)
		r.memory.Release(s, false)
	}
	if !s.imported {
		r.host.room += int64(s.Swapped)
	}
	r.slots.vacate(s.Slot, s.row)
}

// releaseMoved releases the KV cache that s left in r when it moved to another replica. The cache
// is stored under the slot and the row that s had in r.
func (r *replica) releaseMoved(s *Sequence, slot, row int, now Time) {
	r.account(now)
	elsewhere, rows, rowThere, stored := s.Slot, s.rows, s.row, s.Stored
	s.Slot, s.rows, s.row, s.Stored = slot, &r.slots.rows, row, s.Prompt
	r.memory.Release(s, true)
	row = s.row
	s.Slot, s.rows, s.row, s.Stored = elsewhere, rows, rowThere, stored
	r.slots.vacate(slot, row)
	r.replan(now)
}

// replan lets r plan again after a change that its schedulers could not know: a request left, or
// memory became free.
func (r *replica) replan(now Time) {
	r.now = now
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active {
			r.cut(b)
		}
	}
	r.retryFrom(now)
	r.schedule()
}

// abort ends the leaps of r. Steps that ended before now count, and running steps are lost.
func (r *replica) abort(now Time) {
	r.now = now
	r.account(now)
	for i := range r.batches {
		b := &r.batches[i]
		b.flight.lost = 0
		if b.flight.active {
			b.leaving = b.leaving[:0] // fail takes all sequences out
			b.abort()
		}
		b.transfers.ready = 0
		r.free[i] = now
	}
	r.retry, r.host.free = Never, now
	r.schedule()
}

// abort ends the leap of b. Steps that ended before now count. The running step is lost, together
// with all its sequences.
func (b *Batch) abort() {
	r, f := b.r, &b.flight
	done := int64(0)
	if f.leaping {
		done = f.run.ending(r.now-f.start) - 1
	}
	r.planned -= f.steps - done
	lost := max(f.stored-done, 0) // steps that have their memory
	if r.speculator != nil {
		if lost = 0; f.leaping {
			b.store(max(f.stored, done+1))
			f.cutOff = 1
		}
	}
	if done > 0 {
		r.setSteps(b, done)
		f.stored = min(f.stored, done)
		b.land()
	}
	f.active, f.lost = false, lost
	b.newcomers = b.newcomers[:0]
}

// countLost counts the steps that abort cut off, so that their memory is released with their
// sequences. It is called when the steps before them have been reported, because a report shows the
// progress of its sequences.
func (r *replica) countLost() {
	for i := range r.batches {
		b := &r.batches[i]
		b.steps += b.flight.lost
		b.context += b.flight.lost * int64(b.decodes)
	}
}

func (r *replica) forget() {
	if m, ok := r.memory.(Forgetter); ok {
		m.Forget()
	}
	if r.encodings != nil {
		r.encodings.Forget()
	}
}
