package sim

// due returns the time of the next event, including those at which a scaler is asked.
func (f *fleet) due() Time {
	_, at := f.next.min()
	return min(f.arrivals.next, f.agenda.next(), Time(at))
}

// step carries out the first event of the given time, which is the time of the next event.
func (s *Simulation) step(at Time) {
	f := s.fleet
	s.takeSamples(at)
	switch at {
	case f.arrivals.next:
		f.arriveNext(at)
	case f.agenda.next():
		_, running := f.next.min()
		idle := f.arrivals.next == Never && Time(running) == Never && f.agenda.pending == 0
		f.handle(f.agenda.pop())
		if idle && s.closed && f.live > 0 && f.agenda.pending == 0 {
			f.giveUp() // no scaler starts a replica for requests that wait for one
		}
	default:
		i, _ := f.next.min()
		f.run(&f.replicas[i], at)
	}
}

// handle carries out an event.
func (f *fleet) handle(e event) {
	f.now = e.at
	if e.s != nil && e.s.life != e.life {
		return // the request has ended
	}
	switch e.kind {
	case arriving:
		f.arrive(e.s, e.at)
	case beginning:
		if e.s.stage == outside {
			f.loads.count(f.now, e.s, waits, nil)
		}
	case placing:
		f.place(e.s)
	case timingOut:
		if s := e.s; s.batch == nil && s.Generated == 0 && s.Preemptions == 0 {
			f.end(s, TimedOut)
		}
	case cancelling:
		if s := e.s; e.n < 0 || s.Retries == e.n {
			f.end(s, Cancelled)
		}
	case handingOver:
		f.handOver(e.s)
	case queueing:
		if r := &f.replicas[e.s.Replica]; r.generation == uint32(e.n) {
			f.accept(r, e.s)
		} else {
			f.retryOrLose(e.s)
		}
	case delivering:
		f.deliver(e.s)
	case flowing:
		if e.n == f.flowing {
			f.receive()
		}
	case stopping:
		f.stopRead(e.s)
	case showing:
		if e.s.Retries == e.n {
			e.s.reportTokens(f.tokens, e.at)
		}
	case yielding:
		f.releaseSource(e.s)
	case failing:
		f.fail(&f.outages[e.n])
	case recovering:
		f.recover(&f.replicas[e.n], e.life)
	case readying:
		if r := &f.replicas[e.n]; r.generation == e.life { // it was not stopped meanwhile
			f.open(r)
		}
	case scaling:
		f.scale(e.n)
	}
}

// takeSamples samples the state at all times before the given one that are due.
func (s *Simulation) takeSamples(before Time) {
	for s.sample < before {
		s.takeSample()
	}
}

func (s *Simulation) takeSample() {
	f, at := s.fleet, s.sample
	for i := range f.replicas {
		f.observer.Sampled(at, i, s.stateAt(&f.replicas[i], at, s.samples))
	}
	s.sample = later(at, s.sampleEvery)
	s.samples++
}

// stateAt returns the state of r in a sample with the given number. The slots are those at the time
// of the sample while r stays as it is.
func (s *Simulation) stateAt(r *member, at Time, number int64) State {
	state := r.state(at, false)
	if divides(number, r.index, len(s.fleet.replicas)) {
		state.Slots, r.sampled = r.divide, at
	}
	state.Up = r.phase != off && r.phase != failed
	return state
}
