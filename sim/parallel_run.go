package sim

import "context"

// OpenLoop is a Source that can say whether its requests are known ahead.
type OpenLoop interface {
	Source
	// Open reports whether Done changes nothing, so that requests can be taken before earlier ones
	// have ended. Run stops with an error where it took requests so and Done changed NextArrival.
	Open() bool
}

// BlindRouter is a Router that can do without a look at replicas.
type BlindRouter interface {
	Router
	// Blind reports whether Route asks the pool for nothing but Len, At, Accepts and Now where it
	// is given r.
	Blind(r *Request) bool
}

// parallelRun runs replicas that do not depend on each other, each by itself through a window of
// time. All that happens at them is written down. When the window is over, it is carried out in the
// order in which a Simulation finds it event by event: by time, and of the same time by replica.
//
// While the replicas run through a window, the one before is carried out, and the requests of the
// one after arrive. These two touch no field of a replica that its run touches.
type parallelRun struct {
	*Simulation
	run    func(n int, task func(int))
	router BlindRouter
	groups [][]int // the replicas of each group, which run one after another; each replica once

	// The replicas run through running. Meanwhile task 0 alone reads and writes all other fields:
	// it carries out other, the window before, and fills it anew as the window after.
	running, other *window
	span           Time  // the length of the next window, above 0
	start          Time  // of the next window: the end of the one that was filled last
	nextSample     Time  // the first sample at start or later
	nextNumber     int64 // its number, from 0
	newest         Time  // the latest arrival; -1 before the first
	// rest is a request that was taken from the source and ends the parallel run: it may leave, or
	// its router looks at replicas. It arrives event by event.
	rest *Sequence
	err  error // that a request which arrives at start is wrong
}

// The least number of acts for which a window is made, the number of acts that it has for each
// replica, and the largest number. Large windows need memory, and small ones take each replica's
// state into the caches often.
const (
	leastActs      = 4096
	actsPerReplica = 4
	mostActs       = 1 << 17
	mostSamples    = 64
)

// newParallelRun returns nil unless the replicas of the simulation do not depend on each other.
func newParallelRun(s *Simulation, c *Config) *parallelRun {
	source, ok := c.Source.(OpenLoop)
	router, blind := c.Router.(BlindRouter)
	if c.Apart == nil || !ok || !source.Open() || !blind || c.Admission != nil ||
		c.Encoders != nil || c.QueueTimeout > 0 || c.Announce > 0 || c.Tokens != nil ||
		len(c.Outages)+len(c.Scalings)+len(c.Links) > 0 {
		return nil
	}
	a := &parallelRun{Simulation: s, run: c.Apart, router: router, span: 100 * Millisecond,
		nextSample: s.sample, newest: -1,
		running: newWindow(len(c.Replicas)), other: newWindow(len(c.Replicas))}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		if r.Pooling.Memory != nil || r.Disk.Memory != nil || r.Group < 0 ||
			r.Group >= len(c.Replicas) {
			return nil
		}
		for len(a.groups) <= r.Group {
			a.groups = append(a.groups, nil)
		}
		a.groups[r.Group] = append(a.groups[r.Group], i)
		m := &s.fleet.replicas[i]
		for lane := range m.batches {
			m.batches[lane].report = new(Leap)
		}
	}
	return a
}

// through runs the simulation as far as replicas do not depend on each other.
func (a *parallelRun) through(ctx context.Context) error {
	f := a.fleet
	f.parallel = true
	defer func() { f.parallel = false }()
	a.fill(a.running)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.run(1+len(a.groups), func(task int) {
			if task == 0 {
				a.carryOutWindow(a.other)
				if f.err == nil && !a.running.last {
					a.fill(a.other)
				}
				return
			}
			for _, i := range a.groups[task-1] {
				a.runReplica(i)
			}
		})
		if f.err != nil {
			return nil
		}
		next := a.other
		if a.running.last || next.arrivals == 0 && next.end == Never ||
			next.arrivals == 0 && f.arrivals.next == Never && (f.live == 0 || a.idle()) {
			break
		}
		a.running, a.other = next, a.running
	}
	a.carryOutWindow(a.running)
	if f.err != nil {
		return nil
	}
	for i := range f.replicas {
		f.next.set(i, int64(f.replicas[i].next))
	}
	if f.err = a.err; a.rest != nil {
		a.takeSamples(a.rest.Arrival)
		f.arrive(a.rest, a.rest.Arrival)
	}
	return nil
}

// idle reports whether nothing more happens at any replica.
func (a *parallelRun) idle() bool {
	for i := range a.fleet.replicas {
		if a.fleet.replicas[i].next != Never {
			return false
		}
	}
	return true
}

// fill begins a window, and lets its requests arrive.
func (a *parallelRun) fill(w *window) {
	f := a.fleet
	a.begin(w)
	most := max(leastActs, actsPerReplica*len(f.replicas))
	w.end = later(w.start, a.span)
	for ; f.arrivals.next < w.end; w.arrivals++ {
		if w.arrivals == most {
			w.end = f.arrivals.next
			// Requests that come together wait in less space where replicas do not run apart.
			w.last = w.end == w.start && len(f.replicas) == 1
			break
		}
		if !a.arriveNext(w) {
			w.last = true
			break
		}
	}
	a.start = w.end
	for a.nextSample < w.end {
		a.nextSample = later(a.nextSample, a.sampleEvery)
		a.nextNumber++
	}
}

// begin empties a window that was carried out, and chooses the length of the next one: that which
// gives a good number of acts if they come as often as in the window before.
func (a *parallelRun) begin(w *window) {
	acts := 0
	for i := range w.logs {
		l := &w.logs[i]
		acts += len(l.acts)
		l.arrivals, l.acts, l.carriedOut, l.effects = l.arrivals[:0], l.acts[:0], 0, l.effects[:0]
		l.samples = l.samples[:0]
	}
	good := min(max(leastActs, actsPerReplica*len(w.logs)), mostActs)
	if span := float64(w.end - w.start); span > 0 {
		factor := min(max(float64(good)/float64(max(acts, 1)), 1./8), 2)
		a.span = max(Time(min(span*factor, float64(Never/2))), 1)
	}
	if a.sampleEvery > 0 {
		a.span = min(a.span, mostSamples*a.sampleEvery)
	}
	*w = window{start: a.start, sample: a.nextSample, number: a.nextNumber,
		requests: w.requests[:0], logs: w.logs}
}

// arriveNext lets the next request of the source arrive in a window. It returns false if the window
// must end before it: the request is wrong, or it lets replicas depend on each other.
func (a *parallelRun) arriveNext(w *window) bool {
	f := a.fleet
	at := f.arrivals.next
	f.now = a.newest
	s := f.nextRequest(at)
	if f.err != nil {
		a.err, f.err = f.err, nil
		w.end = max(at, a.newest)
		return false
	}
	a.newest, f.now = at, at
	if s.Patience > 0 || !a.router.Blind(&s.Request) {
		a.rest, w.end = s, at
		return false
	}
	p := f.pools.entry(&s.Request)
	f.result.Arrived++
	p.arrived++
	i, ok := f.choose(s, f.router, p)
	if !ok {
		a.err, f.err = f.err, nil
		w.end = at
		return false
	}
	r := &f.replicas[i]
	why, ok := r.serves(&s.Request)
	w.requests = append(w.requests, arrived{s, at, i, !ok, why})
	if !ok {
		return true
	}
	r.assign(s)
	s.place, s.Latency = atReplica, r.latencyOf(s)
	w.logs[i].arrivals = append(w.logs[i].arrivals, s)
	return true
}

// carryOutWindow carries out what happened in a window.
func (a *parallelRun) carryOutWindow(w *window) {
	f := a.fleet
	for i := range w.logs {
		f.next.set(i, w.logs[i].next())
	}
	requests := w.requests
	for f.err == nil {
		i, key := f.next.min()
		at := Time(key)
		if len(requests) > 0 && requests[0].at <= at {
			q := &requests[0]
			requests = requests[1:]
			a.takeSamplesOf(w, q.at)
			f.now = q.at
			if r := &f.replicas[q.replica]; q.rejected {
				r.result.Rejected++
				f.drop(q.s, q.why)
			} else {
				f.loads.count(f.now, q.s, waits, r.load)
			}
			continue
		}
		if at == Never {
			break
		}
		a.takeSamplesOf(w, at)
		f.now = at
		a.carryOutAct(&f.replicas[i], &w.logs[i])
	}
	if w.end < Never && (f.live > 0 || f.arrivals.next != Never) { // something happens after it
		a.takeSamplesOf(w, w.end)
	}
}

// next returns when the replica acts next, or Never.
func (l *replicaLog) next() int64 {
	if l.carriedOut == len(l.acts) {
		return int64(Never)
	}
	return int64(l.acts[l.carriedOut].at)
}

// carryOutAct carries out the effects of the next act of r.
func (a *parallelRun) carryOutAct(r *member, l *replicaLog) {
	f, from := a.fleet, 0
	if l.carriedOut > 0 {
		from = l.acts[l.carriedOut-1].effects
	}
	effects := l.effects[from:l.acts[l.carriedOut].effects]
	for i := range effects {
		f.carryOut(r, &effects[i])
		if e := &effects[i]; e.kind == stepped {
			l.reports = append(l.reports, e.leap)
		}
	}
	l.carriedOut++
	f.next.set(r.index, l.next())
	if l.err != nil && l.carriedOut == len(l.acts) {
		f.fault("replica %d: %w", r.index, l.err)
	}
}

// takeSamplesOf gives observers the samples of a window that are due before a time.
func (a *parallelRun) takeSamplesOf(w *window, before Time) {
	f := a.fleet
	for ; a.sample < before; w.sampled++ {
		at := a.sample
		for i := range w.logs {
			if l := &w.logs[i]; w.sampled < len(l.samples) {
				f.observer.Sampled(at, i, l.samples[w.sampled])
			} else { // r rests, and the window ends with the simulation
				f.observer.Sampled(at, i, a.stateAt(&f.replicas[i], at, a.samples))
			}
		}
		a.sample = later(at, a.sampleEvery)
		a.samples++
	}
}
