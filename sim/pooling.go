package sim

// beginPoolRead begins the transfer of what s, which is assigned to r, finds in the pool. It
// returns false if there is nothing.
func (f *fleet) beginPoolRead(r *member, s *Sequence) bool {
	if r.pooling.Memory == nil {
		return false
	}
	r.catchUp(f.now)
	bytes := r.pooling.Memory.Wanted(s)
	if bytes <= 0 {
		return false
	}
	s.place = underWay
	f.transmit(bytes, &flow{wires: r.pooling.Reads, transfer: transfer{s: s, life: s.life,
		replica: r.index, generation: r.generation}})
	r.result.PoolReadBytes += bytes
	return true
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

func (f *fleet) transmit(bytes int64, w *flow) {
	f.flows.begin(f.now, bytes, w)
	f.noteFlows()
}

// noteFlows notes when the next transfer is through. Earlier notes are stale.
func (f *fleet) noteFlows() {
	f.flowing++
	if at := f.flows.next(); at != Never {
		f.schedule(at, event{kind: flowing, n: f.flowing})
	} else if len(f.flows.list) > 0 {
		f.fault("a transfer from or to a pool takes longer than simulated time can name")
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
		case r.generation != w.generation:
			f.retryOrLose(w.s)
		default:
			r.catchUp(f.now)
			r.pooling.Memory.Bring(w.s)
			f.accept(r, w.s)
		}
	}
	f.noteFlows()
}
