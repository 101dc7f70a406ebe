package sim

// send queues a transfer of the given number of bytes on the link, and returns the time at which it
// has arrived. The layers become ready at even distances during the step that ends at computed, the
// last one at its end (Splitwise, ISCA 2024, section 4.3; Mooncake, FAST 2025, section 5.2). While
// a transfer waits for layers, the link is free for others.
func (l *link) send(bytes int64, layers int, computed, step Time) Time {
	whole := max(Seconds(float64(bytes)/l.Bandwidth), 1)
	n := Time(max(layers, 1))
	begin := max(computed-step+step/n, l.free)
	l.free = later(begin, whole)
	end := later(max(l.free, later(computed, whole/n)), l.Latency)
	l.result.Transfers++
	l.result.Bytes += bytes
	l.result.Busy += whole
	l.result.Visible = later(l.result.Visible, end-computed)
	return end
}

// lend begins the move of s to a decode replica. The step that ends now has computed its prompt at
// r.
func (f *fleet) lend(r *member, s *Sequence, step Time) {
	s.move = &move{
		source: r.index, slot: s.Slot, row: s.row, computed: f.now, step: step,
		sourceGeneration: r.generation,
	}
	s.place = underWay
	f.loads.count(f.now, s, waits, nil)
	r.leases++
	r.pool.Sibling(Decode).arrived++
	f.schedule(f.now, event{kind: handingOver, s: s})
}

// handOver chooses the replica that decodes s, and sends the KV cache there.
func (f *fleet) handOver(s *Sequence) {
	source := &f.replicas[s.move.source]
	switch {
	case s.ending:
		f.drop(s, s.verdict)
		return
	case source.generation != s.move.sourceGeneration:
		f.retryOrLose(s)
		return
	}
	f.replicas[s.Replica].unassign(s)
	i, ok := f.choose(s, f.handover, source.pool.Sibling(Decode))
	if !ok {
		return
	}
	target := &f.replicas[i]
	if why, fits := target.serves(&s.Request); !fits {
		target.result.Rejected++
		f.drop(s, why)
		return
	}
	s.place, s.move.targetGeneration = underWay, target.generation
	target.assign(s)
	bytes := source.kvBytes.Of(s.Swapped)
	l := &f.links[source.link]
	at := l.send(bytes, source.layers, s.move.computed, s.move.step)
	if at == Never || l.result.Visible == Never {
		f.fault("the transfers over link %d up to that of request %d take longer than simulated "+
			"time can name",
			source.link, s.ID)
	}
	if f.sent != nil {
		whole := max(Seconds(float64(bytes)/l.Bandwidth), 1)
		f.sent(Transfer{source.link, s.ID, bytes, l.free - whole, l.free, at})
	}
	f.schedule(at, event{kind: delivering, s: s})
}

// deliver lets s wait for a place at the replica that now has its KV cache. The scheduler sees s as
// after SwapOut. When memory for s is taken, one token is left to compute, which is the one that
// came out of the prefill.
func (f *fleet) deliver(s *Sequence) {
	r, m := &f.replicas[s.Replica], s.move
	switch {
	case f.replicas[m.source].generation != m.sourceGeneration:
		f.retryOrLose(s)
	case r.generation != m.targetGeneration:
		m.computed, m.step = f.now, 0
		f.handOver(s)
	default:
		s.Delivered = f.now
		f.accept(r, s)
	}
}
