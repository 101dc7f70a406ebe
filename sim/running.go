package sim

// run lets r act at the given time: leaps end, and the next ones begin.
func (f *fleet) run(r *member, at Time) {
	f.now = at
	r.land(at)
	if len(r.effects) > 0 {
		f.carryOutEach(r)
	}
	r.launch(at)
	f.carryOutEffects(r)
}

// carryOutEffects carries out the effects of a call of r, and notes when r acts next.
func (f *fleet) carryOutEffects(r *member) {
	if len(r.effects) > 0 {
		f.carryOutEach(r)
	}
	f.next.set(r.index, int64(r.next))
	if r.err != nil {
		f.fault("replica %d: %w", r.index, r.err)
	}
}

func (f *fleet) carryOutEach(r *member) {
	for i := 0; i < len(r.effects); i++ {
		f.carryOut(r, &r.effects[i])
	}
	r.effects = r.effects[:0]
}

// carryOut carries out an effect of a call of r. Where replicas run apart, r and its sequences are
// by then at later times: what an effect needs of them, and changes, it holds itself.
func (f *fleet) carryOut(r *member, e *effect) {
	switch e.kind {
	case stepped:
		e.leap.Replica = r.index
		f.observer.Steps(e.leap)
	case prompted:
		r.promptDone(e.s)
		if e.time > 0 {
			f.scheduleLeaving(e.s, e.time)
		}
	case emitted:
		e.s.reportTokens(f.tokens, e.time)
	case announced:
		f.scheduleLeaving(e.s, e.time)
		if f.tokens != nil {
			f.scheduleFirstToken(e.s, e.time)
		}
	case finished:
		f.finish(e.s)
	case expelled:
		f.drop(e.s, e.s.verdict)
	case passed:
		f.lend(r, e.s, e.time)
	case entered:
		f.loads.count(f.now, e.s, runs, r.load)
	case displaced:
		f.loads.count(f.now, e.s, waits, r.load)
	case admitted:
		f.schedule(f.now, event{kind: yielding, s: e.s})
	}
}
