package sim

// window is a span of time with what happens in it. It is filled (begin, fill), run (runReplica)
// and carried out (carryOutWindow), in this order.
type window struct {
	start, end Time  // start <= end, which is excluded; only fill and arriveNext set end
	sample     Time  // the first sample at start or later
	number     int64 // its number, from 0
	sampled    int   // samples of the window that the observers were given
	arrivals   int   // requests that the source gave for the window
	last       bool  // no window follows
	requests   []arrived
	logs       []replicaLog // one a replica
}

// replicaLog records the events of a replica in a window. fill lists the arrivals, the run of the
// replica alone writes acts, effects, err and samples, and carrying out reads them.
type replicaLog struct {
	arrivals   []*Sequence // in order of arrival
	acts       []act       // in order of time
	carriedOut int         // acts that were carried out, 0 <= carriedOut <= len(acts)
	effects    effects     // of all acts
	err        error       // the replica cannot go on after the last act
	samples    []State     // from window.sample on
	reports    []*Leap     // for reuse
}

// act is a time at which a replica acted. The effects of act i are replicaLog.effects from
// acts[i-1].effects to acts[i].effects.
type act struct {
	at      Time
	effects int
}

// arrived is a request of a window, in the order of arrival. The replica does not take it if it is
// rejected, for the reason why.
type arrived struct {
	s        *Sequence
	at       Time
	replica  int
	rejected bool
	why      Rejection
}

func newWindow(replicas int) *window {
	return &window{logs: make([]replicaLog, replicas)}
}

// runReplica lets replica i run through the window.
func (a *parallelRun) runReplica(i int) {
	r, l := &a.fleet.replicas[i], &a.running.logs[i]
	l.effects, r.effects = r.effects, l.effects
	for _, s := range l.arrivals {
		a.actUntil(r, l, s.Arrival)
		r.accept(s, s.Arrival)
	}
	a.actUntil(r, l, a.running.end)
	l.effects, r.effects = r.effects, l.effects
	l.err = r.err
}

// actUntil lets r act until a time, which is excluded.
func (a *parallelRun) actUntil(r *member, l *replicaLog, until Time) {
	for r.next < until && r.err == nil {
		at := r.next
		a.sampleBefore(r, l, at)
		before := len(r.effects)
		r.land(at)
		for i := before; i < len(r.effects); i++ {
			if e := &r.effects[i]; e.kind == stepped {
				l.replaceReport(&r.batches[e.leap.Lane])
			}
		}
		r.launch(at)
		if len(r.effects) > before || r.err != nil {
			l.acts = append(l.acts, act{at, len(r.effects)})
		}
	}
	if until != Never {
		a.sampleBefore(r, l, until)
	}
}

// replaceReport gives b another report and other lists, because observers are given the lists of
// the leap that has ended when the window is carried out.
func (l *replicaLog) replaceReport(b *Batch) {
	var report *Leap
	if n := len(l.reports); n > 0 {
		report, l.reports = l.reports[n-1], l.reports[:n-1]
	} else {
		report = new(Leap)
	}
	if b.report.Ends != nil {
		b.forecast.ends, b.forecast.contexts = report.Ends[:0], report.Contexts[:0]
	}
	b.step.Prefill, b.report = report.Prefill[:0], report
}

// sampleBefore writes down the state of r at the samples that are due before a time.
func (a *parallelRun) sampleBefore(r *member, l *replicaLog, before Time) {
	for {
		k := len(l.samples)
		at := later(a.running.sample, Time(k)*a.sampleEvery)
		if at >= before {
			return
		}
		state := a.stateAt(r, at, a.running.number+int64(k))
		if state.Slots != nil {
			slots := state.Slots()
			state.Slots = func() Slots { return slots }
		}
		l.samples = append(l.samples, state)
	}
}
