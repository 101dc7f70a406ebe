package sim

import "fmt"

// place is where a request is.
type place uint8

const (
	nowhere    place = iota // about to be placed
	atGate                  // it waits until a replica of its pool takes requests
	atReplica               // it waits or runs there
	underWay                // its KV cache is being moved
	comingBack              // it will be tried again after a failure
)

// Withdrawer is a Scheduler that takes part when a sequence that waits times out, is cancelled or
// is lost in a failure. One that does not is expected to keep the waiting sequences in Queues, from
// which the simulator takes them.
type Withdrawer interface {
	// Withdraw forgets s, which was handed over and is in no batch.
	Withdraw(s *Sequence)
}

// end ends s without an answer: now, or with the step that it runs in.
func (f *fleet) end(s *Sequence, why Rejection) {
	switch s.place {
	case atGate:
		s.queue.Remove(s)
	case atReplica:
		r := &f.replicas[s.Replica]
		r.now = f.now
		left := r.withdraw(s)
		f.settle(r)
		if !left {
			s.doomed, s.verdict = true, why
			return
		}
	}
	f.drop(s, why)
}

// drop ends s, which no batch or queue holds any more, without an answer.
func (f *fleet) drop(s *Sequence, why Rejection) {
	f.unassign(s)
	f.yield(s)
	f.result.End = max(f.result.End, f.now)
	switch why {
	case TimedOut:
		f.result.TimedOut++
	case Cancelled:
		f.result.Cancelled++
	case Lost:
		f.result.Lost++
	default:
		f.result.Rejected++
	}
	if f.observer != nil {
		f.observer.Rejected(&s.Request, why)
	}
	f.retire(s, f.now)
}

// withdraw takes s out of r. It returns false where s is in a batch that runs a step: it leaves
// when that ends.
func (r *replica) withdraw(s *Sequence) bool {
	if b := s.batch; b != nil && b.flight.active {
		r.cut(b)
		b.leaving = append(b.leaving, s)
		r.schedule()
		return false
	}
	b := s.batch
	r.detach(s)
	if b != nil && b.held > 0 && b.held == b.running {
		b.deliver(r.now)
	}
	r.disturb(r.now)
	return true
}

// detach takes s, which is in no step that runs, out of r, with all that it holds there.
func (r *replica) detach(s *Sequence) {
	switch {
	case s.batch != nil:
		s.batch.expel(s)
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
		r.unpause(s)
		r.memory.Release(s, false)
	}
	if s.move == nil {
		r.hostFree += int64(s.Swapped)
	}
}

// disturb lets r plan anew after something changed that its schedulers may have counted on: a
// request left, or memory is free.
func (r *replica) disturb(now Time) {
	r.now = now
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active {
			r.cut(b)
		}
	}
	r.retryFrom(now)
	r.schedule()
}

// expel takes s out of b before its answer is complete, and drops its KV cache.
func (b *Batch) expel(s *Sequence) {
	if s.held {
		s.held = false
		b.held--
	}
	b.leave(s, true)
	b.r.memory.Release(s, false)
}

// expelLeaving removes the sequences that were to leave when the step ended, except those that
// finished with it.
func (b *Batch) expelLeaving() {
	for i, s := range b.leaving {
		b.leaving[i] = nil
		if s.batch == b {
			b.expel(s)
			b.effect(expelled, s)
		}
	}
	b.leaving = b.leaving[:0]
}
