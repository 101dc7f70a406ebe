package sim

// store returns what r knows of a store, nil without a store, and the wires from it.
func (r *member) store(from store) (m PrefetchedMemory, reads []int) {
	if from == onDisk {
		return r.disk.Memory, r.disk.Reads
	}
	if r.pooling.Memory == nil {
		return nil, nil
	}
	return r.pooling.Memory, r.pooling.Reads
}

// prefetch begins the transfer of what s, which is assigned to r, finds in a store, or in one that
// comes after it. s is queued if there is nothing.
func (f *fleet) prefetch(r *member, s *Sequence, from store) {
	for ; from < stores; from++ {
		m, reads := r.store(from)
		if m == nil {
			continue
		}
		r.account(f.now)
		bytes := m.Wanted(s)
		if bytes <= 0 {
			continue
		}
		s.place = underWay
		f.transmit(bytes, &flow{wires: reads, transfer: transfer{from: from, s: s, life: s.life,
			replica: r.index, generation: r.generation}})
		if from == onDisk {
			r.result.PrefetchedBytes += bytes
			if _, ok := r.disk.Memory.(PartMemory); ok && r.disk.Patience != nil {
				f.schedule(later(f.now, r.disk.Patience(bytes)), event{kind: stopping, s: s})
			}
		} else {
			r.result.PoolReadBytes += bytes
		}
		return
	}
	f.accept(r, s)
}

// beginPoolWrite begins the transfer of what s, which has finished, leaves for the pool.
func (f *fleet) beginPoolWrite(s *Sequence) {
	r := &f.replicas[s.Replica]
	if r.pooling.Memory == nil {
		return
	}
	if bytes, keep := r.pooling.Memory.Offer(s); bytes > 0 {
		f.transmit(bytes, &flow{wires: r.pooling.Writes, transfer: transfer{keep: keep,
			replica: r.index, generation: r.generation}})
		r.result.PoolWrittenBytes += bytes
	}
}

// transmit begins a transfer of KV cache.
func (f *fleet) transmit(bytes int64, w *flow) {
	f.flows.begin(f.now, bytes, w)
	f.scheduleFlows()
}

// scheduleFlows schedules the end of the transfer that is through next. Its earlier events are
// stale.
func (f *fleet) scheduleFlows() {
	f.flowing++
	if at := f.flows.next(); at != Never {
		f.schedule(at, event{kind: flowing, n: f.flowing})
	} else if len(f.flows.list) > 0 {
		f.fault("a transfer from or to a store takes longer than simulated time can name")
	}
}

// receive carries out the ends of transfers. What is under way from a replica that fails is lost.
func (f *fleet) receive() {
	for _, w := range f.flows.finish(f.now) {
		r := &f.replicas[w.replica]
		switch {
		case w.keep != nil && r.generation == w.generation:
			w.keep()
		case w.keep != nil || w.s.life != w.life:
		default:
			f.continueAfter(w, w.bytes)
		}
	}
	f.scheduleFlows()
}

// stopRead ends the read from disk for which s waits, if it is not through.
func (f *fleet) stopRead(s *Sequence) {
	w, bytes := f.flows.stop(f.now, s, onDisk)
	if w == nil {
		return
	}
	f.replicas[w.replica].result.PrefetchedBytes -= w.bytes - bytes
	f.continueAfter(w, bytes)
	f.scheduleFlows()
}

// continueAfter lets the request of a transfer go on when that many of its bytes have come.
func (f *fleet) continueAfter(w *flow, bytes int64) {
	r := &f.replicas[w.replica]
	if r.generation != w.generation {
		f.retryOrLose(w.s)
		return
	}
	r.account(f.now)
	m, _ := r.store(w.from)
	if part, ok := m.(PartMemory); ok && bytes < w.bytes {
		part.BringPart(w.s, bytes)
	} else {
		m.Bring(w.s)
	}
	f.prefetch(r, w.s, w.from+1)
}
