package sim

func newReplica(c *ReplicaConfig, maxLeap int64) replica {
	r := replica{
		scheduler: c.Scheduler, memory: c.Memory, clock: c.Clock, speculator: c.Speculator,
		maxLeap: maxLeap, limit: c.MaxContext, handsOver: c.Role == Prefill,
		relaysFirstToken: c.Relays,
		firstChunk:       c.FirstChunk, retry: Never,
		next: Never,
		host: hostLink{time: c.Host.Time, parts: Time(max(c.Host.Parts, 1)), room: c.Host.Tokens},
	}
	if c.Stages < 2 {
		r.lookahead = int64(c.Lookahead)
	}
	r.leaper, _ = c.Clock.(LeapClock)
	r.listener, _ = c.Scheduler.(Listener)
	r.withdrawer, _ = c.Scheduler.(Withdrawer)
	r.roomy, _ = c.Memory.(LeapMemory)
	if r.roomy != nil && r.leaper != nil && r.maxLeap > 1 && c.Stages < 2 {
		r.foreseeing, _ = c.Speculator.(LeapSpeculator)
	}
	r.summing, _ = c.Memory.(SummingMemory)
	r.tiered, _ = c.Memory.(TieredMemory)
	r.encodings = c.Encodings
	return r
}

// init makes the batches of r, which must not be moved afterwards. Each batch reports in the
// element of reports for its lane.
func (r *replica) init(stages int, reports []*Leap) {
	r.paused.kind = batched
	if m, ok := r.memory.(ClockedMemory); ok {
		m.Clock(func() Time { return r.now })
	}
	r.batches, r.free = r.oneBatch[:], r.oneFree[:]
	if stages > 1 {
		r.batches, r.free = make([]Batch, stages), make([]Time, stages)
	}
	for i := range r.batches {
		b := &r.batches[i]
		b.r, b.lane, b.report = r, i, reports[i]
		b.members.kind = batched
		if r.foreseeing != nil {
			b.forecast = &forecast{group: &b.decoders, speculator: r.foreseeing, memory: r.roomy}
			b.accepted = func(s *Sequence, steps int64) int64 {
				a := r.foreseeing.Accepts(s)
				return a.In(steps)
			}
		}
		b.step.Sequences = b.members.decoding
	}
	if m, ok := r.memory.(SlotMemory); ok {
		r.paused.memory = m
		r.divide = func() Slots { return r.slotsOf(m, r.sampled) }
	}
}
