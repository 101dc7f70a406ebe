package sim

import (
	"errors"
	"fmt"
)

// end ends s without an answer, either now or at the end of the step in which s runs.
func (f *fleet) end(s *Sequence, why Rejection) {
	s.gone = f.now
	switch s.place {
	case atGate:
		s.queue.Remove(s)
	case atReplica:
		r := &f.replicas[s.Replica]
		left := r.withdraw(s, f.now)
		f.carryOutEffects(r)
		if !left {
			s.ending, s.verdict = true, why
			return
		}
	}
	f.drop(s, why)
}

// drop ends s without an answer. No batch or queue may hold s.
func (f *fleet) drop(s *Sequence, why Rejection) {
	f.replicas[s.Replica].unassign(s)
	f.releaseSource(s)
	f.result.Ended = max(f.result.Ended, f.now)
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
	s.Answered = s.had(f.now)
	if f.observer != nil {
		ReportEnd(f.observer, s, why, f.now)
	}
	f.retire(s, f.now)
}

// finish counts s, whose last token came out now.
func (f *fleet) finish(s *Sequence) {
	f.replicas[s.Replica].unassign(s)
	f.beginPoolWrite(s)
	f.result.Completed++
	f.result.Ended = max(f.result.Ended, s.LastToken+s.Latency)
	s.Preemptions += int(s.preempted)
	s.Answered = s.Output
	if f.observer != nil {
		f.observer.Finished(s)
	}
	f.retire(s, s.LastToken+s.Latency)
}

// scheduleFirstToken lets the user of s have its first token at the given time, with all tokens
// that have come out by then.
func (f *fleet) scheduleFirstToken(s *Sequence, at Time) {
	if at <= f.now {
		s.reportTokens(f.tokens, at)
		return
	}
	f.schedule(at, event{kind: showing, s: s, n: s.Retries})
}

// retire reports the end of s to the source, and keeps the space of s for reuse.
func (f *fleet) retire(s *Sequence, at Time) {
	f.live--
	if s.stage != outside {
		f.loads.count(f.now, s, outside, nil)
	}
	if len(f.pushed) > 0 {
		delete(f.pushed, s.ID)
	}
	known := f.arrivals.next
	f.arrivals.source.Done(&s.Request, f.after(max(at, s.Arrival)))
	f.arrivals.expect(f.now + 1)
	if f.parallel && f.arrivals.next != known {
		f.fault("the source %T says by Open that Done changes nothing; when request %d ended, "+
			"the next arrival changed from %v to %v", f.arrivals.source, s.ID, known,
			f.arrivals.next)
	}
	if f.parallel && s.Preemptions > 0 {
		return // its replica, which runs meanwhile, may look at an entry that s left behind
	}
	f.spares.put(s)
}

// retryOrLose sends s, whose replica failed, to another replica to begin anew, or ends it as lost.
func (f *fleet) retryOrLose(s *Sequence) {
	switch {
	case s.ending:
		f.drop(s, s.verdict)
	case s.Retries >= f.retry.Attempts:
		f.drop(s, Lost)
	default:
		f.replicas[s.Replica].unassign(s)
		f.releaseSource(s)
		f.result.Retries++
		if s.stage != outside {
			f.loads.count(f.now, s, waits, nil)
		}
		s.beginAnew()
		f.schedule(later(f.now, f.retry.Delay), event{kind: placing, s: s})
	}
}

// releaseSource releases the KV cache of s at the replica that computed its prompt, if it is still
// there.
func (f *fleet) releaseSource(s *Sequence) {
	m := s.move
	if m == nil {
		return
	}
	r := &f.replicas[m.source]
	s.move = nil
	r.leases--
	r.releaseMoved(s, m.slot, m.row, f.now)
	f.carryOutEffects(r)
	r.switchOffIfDrained()
}

// giveUp ends the requests that wait for a replica.
func (p *Pool) giveUp() {
	for s := p.gate.Front(); s != nil; s = p.gate.Front() {
		p.fleet.end(s, Unavailable)
	}
}

// giveUp ends the requests that wait for a replica. Without such requests, the simulation is stuck.
func (f *fleet) giveUp() {
	before := f.live
	for _, p := range f.pools.list {
		p.giveUp()
	}
	f.stuck = f.live == before
}

// abandoned returns an error if a scheduler forms no step although requests wait.
func abandoned(replicas []member) error {
	var errs []error
	for i := range replicas {
		r := &replicas[i]
		if r.outstanding > 0 {
			errs = append(errs, fmt.Errorf("sim: the scheduler %T of replica %d rests although %d "+
				"requests wait",
				r.scheduler, i, r.outstanding))
		}
	}
	return errors.Join(errs...)
}
