package sim

// interrupt cuts b's leap short at the first boundary at which s can be planned for, and sets
// s.visible to it.
func (r *replica) interrupt(b *Batch, s *Sequence) {
	f := &b.flight
	if !f.leaping {
		s.visible = r.planned + r.lookahead
		return
	}
	if f.ignoreArrivals && r.lookahead == 0 {
		return // the scheduler may as well see it now
	}
	current := f.run.ending(r.now - f.start) // steps from the start to the end of the one that runs
	s.visible = r.planned - f.steps + current + r.lookahead
	if !f.ignoreArrivals {
		r.shorten(b, current+r.lookahead)
	}
}

// cut ends b's leap with the step that runs.
func (r *replica) cut(b *Batch) {
	if f := &b.flight; f.leaping {
		r.shorten(b, f.run.ending(r.now-f.start))
	}
}

// shorten bounds the steps of b's leap.
func (r *replica) shorten(b *Batch, steps int64) {
	f := &b.flight
	if steps < f.steps {
		r.planned -= f.steps - steps
		r.setSteps(b, steps)
	}
	if len(r.batches) > 1 {
		r.account(r.now)
		b.store(f.steps) // now that another batch may need memory
	}
}

// setSteps sets the number of steps of b's leap, and with it its end and when the pipeline stages
// are free.
func (r *replica) setSteps(b *Batch, steps int64) {
	f := &b.flight
	f.steps = steps
	f.end = f.start + f.run.duration(steps)
	last := len(r.free) - 1
	r.free[last] = f.end
	if last > 0 { // the last step leaves the stages one after another
		stage := f.run.step(steps-1) / Time(len(r.free))
		for i := range last {
			r.free[i] = f.end - Time(last-i)*stage
		}
	}
}

// retryFrom schedules a new attempt to start a resting batch, as soon as the first stage is free.
func (r *replica) retryFrom(at Time) {
	for i := range r.batches {
		if !r.batches[i].flight.active {
			r.retry = min(r.retry, max(at, r.free[0]))
			return
		}
	}
}

// schedule computes the time at which the replica acts next.
func (r *replica) schedule() {
	r.next = r.retry
	for i := range r.batches {
		if f := &r.batches[i].flight; f.active {
			r.next = min(r.next, f.end)
		}
	}
}
