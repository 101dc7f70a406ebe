package sim

// admit gives s, which waited, a place in the batch.
func (b *Batch) admit(s *Sequence) {
	s.batch = &b.progress
	s.admitted = b.r.admissions
	b.r.admissions++
	if s.Preemptions == 0 && s.Generated == 0 {
		s.Scheduled = b.r.now
	}
	b.members.insert(s, nil)
	b.running++
	b.r.effects.add(entered, s)
	b.prefilling = append(b.prefilling, s)
	if b.r.listener != nil {
		b.r.listener.Entered(b, s)
	}
	if b.r.backlog.n > 0 && b.r.scheduler.Waiting() <= enoughWaiting { // s among them
		b.r.advanceBacklog()
	}
}

// leave takes s out of the batch. It does not release the memory of s.
func (b *Batch) leave(s *Sequence, gone bool) {
	if s.foreseen {
		b.forecast.release(s)
	}
	if b.r.listener != nil {
		b.r.listener.Left(b, s, gone)
	}
	b.stopProgress(s)
	b.members.remove(s)
	s.batch = nil
	b.running--
}

// stopProgress ends the decoding or the prefill of s. s keeps its place in the batch.
func (b *Batch) stopProgress(s *Sequence) {
	if !s.decoding {
		b.prefilling = without(b.prefilling, s)
		return
	}
	b.drop(s)
	if b.r.speculator == nil {
		b.r.memory.Leave(b.lane, s)
	}
}

// joinDecodes adds s, whose prompt is complete, to the decoding sequences.
func (b *Batch) joinDecodes(s *Sequence) {
	b.prefilling = without(b.prefilling, s)
	b.join(s)
	if b.r.speculator != nil {
		if b.forecast.active() {
			b.newcomers = append(b.newcomers, s)
		}
		return
	}
	b.finish.push(b.steps+int64(s.Output-s.Generated), s)
	b.newcomers = append(b.newcomers, s)
	b.r.memory.Join(b.lane, s)
}

// enoughWaiting is the number of waiting sequences that a scheduler has before others wait in a
// backlog.
const enoughWaiting = 8

// enqueue lets s wait in the scheduler, or in the backlog. Once r gets a request that may leave
// early, its requests wait in the scheduler only.
func (r *replica) enqueue(s *Sequence) {
	l := &r.backlog
	if l.take != nil && s.Patience > 0 {
		for l.n > 0 {
			r.advanceBacklog()
		}
		l.take = nil
	}
	if l.take == nil || l.n == 0 && r.scheduler.Waiting() < enoughWaiting {
		r.scheduler.Enqueue(s)
		return
	}
	l.push().exchange(s)
	r.slots.vacate(s.Slot, s.row)
	l.put(s)
}

// advanceBacklog gives the scheduler the first request of the backlog.
func (r *replica) advanceBacklog() {
	s := r.backlog.take()
	r.backlog.pop().exchange(s)
	r.slots.seat(s)
	r.scheduler.Enqueue(s)
}
