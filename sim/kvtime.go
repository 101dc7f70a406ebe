package sim

// mostGrowth is the number of steps whose growth is summed up at once, so that the sums of batches
// of up to 2^16 sequences fit into 63 bits.
const mostGrowth = 1 << 15

// account brings the integral and the peak of the KV memory in use up to a time. No memory may be
// taken or given back between the last call and this time, except by the steps of leaps. They take
// their memory when they begin.
func (r *replica) account(now Time) {
	span := now - r.accounted
	if span <= 0 {
		return
	}
	r.now, r.accounted = now, now
	w := &r.result
	used := r.memory.Used()
	w.KVIntegral.Add(used, span)
	for i := range r.batches {
		b := &r.batches[i]
		f := &b.flight
		if !f.active || !f.leaping {
			continue
		}
		begun := f.steps
		if now < f.end {
			begun = min(begun, f.run.ending(now-f.start))
		}
		if f.stored < begun {
			used += r.accountGrowth(b, begun, now)
		}
	}
	w.KVPeak = max(w.KVPeak, used)
}

// accountGrowth adds what the steps of the leap that have begun by now, and whose memory is not
// taken yet, hold from their beginning on. It takes their memory, and returns its units.
func (r *replica) accountGrowth(b *Batch, begun int64, now Time) (taken int64) {
	f := &b.flight
	integral := &r.result.KVIntegral
	if k := f.run.known; k != nil {
		for i := f.stored; i < begun; i++ {
			units := k.growth[b.steps+i-k.origin]
			integral.Add(units, now-f.start-k.duration(i))
			taken += units
		}
		b.store(begun)
		return taken
	}
	for f.stored < begun {
		// The units of step x after the stored ones count from the end of x steps until now. These
		// steps grow by n·PerToken each.
		steps := min(begun-f.stored, mostGrowth)
		units, linear, pairs := advanceSums(r.memory, r.summing, b.lane, steps)
		if units > 0 {
			integral.Add(units, now-f.start-f.run.duration(f.stored))
			integral.sub(linear, f.run.step(f.stored))
			integral.sub(pairs, f.run.form.PerToken*Time(f.run.n))
		}
		f.stored += steps
		taken += units
	}
	return taken
}

// advanceSums is SummingMemory.AdvanceSums for any memory m, which is also summing unless that is
// nil.
func advanceSums(m Memory, summing SummingMemory, lane int, steps int64) (units, linear,
	pairs int64) {
	if summing != nil {
		return summing.AdvanceSums(lane, steps)
	}
	for x := range steps {
		grown := m.Growth(lane, x+1)
		n := grown - units
		units = grown
		linear += n * x
		pairs += n * (x * (x - 1) / 2)
	}
	m.Advance(lane, steps)
	return units, linear, pairs
}

// store takes memory for the decodes of the leap's first steps. The running step always has its
// memory already, since another batch of the pipeline may run out of memory.
func (b *Batch) store(steps int64) {
	f := &b.flight
	if b.r.speculator != nil {
		b.forecast.store(b.steps + steps)
	} else {
		b.r.memory.Advance(b.lane, steps-f.stored)
	}
	f.stored = steps
}
