package sim

// member is a replica in the fleet, and what the fleet knows of it.
type member struct {
	replica
	index     int
	latency   Time
	kvBytes   Footprint[int64]
	layers    int
	link      int
	coldStart Time
	steady    bool // never stopped by a scaler

	// The generation tells failures and stops apart from what was noted before them.
	pool       *Pool
	role       Role
	position   int // in pool.members
	phase      phase
	generation uint32
	since      Time // when it was switched on
	recovers   bool // an outage will end

	// What it was given and has not finished: requests, their prompt tokens, and of these the
	// tokens of prompts not complete.
	outstanding         int
	prompts, uncomputed int64
	leases              int       // requests that go on elsewhere and hold memory here
	residents           residents // listed where replicas may fail
	// when these prompts will be complete, as far as can be told; kept where pool.predicting
	computed    Time
	promptToken Time // see timePerPromptToken
}

func newMember(index int, c *ReplicaConfig, maxLeap int64) member {
	return member{
		replica: newReplica(c, maxLeap), index: index, latency: c.Latency,
		kvBytes: c.KVBytes, layers: c.Layers, link: c.Link,
		role: c.Role, coldStart: c.ColdStart, steady: c.Steady, phase: serving,
	}
}

// run lets r do what happens at the given time: leaps end, and the next ones begin.
func (f *fleet) run(r *member, at Time) {
	f.now = at
	r.land(at)
	if len(r.effects) > 0 {
		f.carryOut(r)
	}
	r.launch(at)
	f.settle(r)
}

// settle carries out what came of a call of r, and notes when something happens there next.
func (f *fleet) settle(r *member) {
	if len(r.effects) > 0 {
		f.carryOut(r)
	}
	f.next.set(r.index, int64(r.next))
	if r.err != nil {
		f.fault("replica %d: %w", r.index, r.err)
	}
}

func (f *fleet) carryOut(r *member) {
	for i := 0; i < len(r.effects); i++ {
		e := r.effects[i]
		switch e.kind {
		case stepped:
			e.b.leaped.Replica = r.index
			f.observer.Steps(&e.b.leaped)
		case prompted:
			f.promptDone(r, e.s)
		case emitted:
			f.tell(e.s, e.at)
		case finished:
			f.finish(e.s)
		case expelled:
			f.drop(e.s, e.s.verdict)
		case passed:
			f.lend(r, e.s, e.b.flight.end-e.b.flight.start)
		case admitted:
			f.note(f.now, event{kind: yielding, s: e.s})
		}
	}
	r.effects = r.effects[:0]
}
