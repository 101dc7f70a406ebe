package sim

// state returns the state of the replica at the time at. Nothing else may happen before that time.
// If early is true, a step that ends at that time still counts as running, since other events of
// the instant are to come.
func (r *replica) state(at Time, early bool) State {
	st := State{Waiting: r.waiting(), Capacity: r.memory.Capacity()}
	for i := range r.batches {
		b := &r.batches[i]
		st.Running += b.running
		st.Decoding += b.decodes
		if b.flight.active && b.flight.leaping {
			// The step that runs has its memory, see store.
			var running int64
			if early {
				running = b.flight.run.ending(at - b.flight.start)
			} else {
				running = b.flight.run.completed(at-b.flight.start) + 1
			}
			running = min(running, b.flight.steps)
			if r.speculator == nil {
				st.Used += r.memory.Growth(b.lane, running-b.flight.stored)
			} else {
				st.Used += b.forecast.units(b.steps + running)
			}
		}
	}
	st.Used += r.memory.Used()
	return st
}

// waiting returns the number of requests that wait at the replica.
func (r *replica) waiting() int {
	return r.scheduler.Waiting() + r.backlog.n + r.incoming.Len()
}

// divides reports whether the sample with the given number, from 0, shows how the memory of replica
// i of n is divided. That takes time in proportion to the running sequences, so that large fleets
// show it of some replicas only.
func divides(sample int64, i, n int) bool {
	const all, some = 8, 2
	// Odd, so that each replica has its turn among every other sample, every fourth, and so on.
	turns := int64((n+some-1)/some) | 1
	return n <= all || sample == 0 || int64(i)%turns == sample%turns
}

// busy returns the time during which steps ran until now.
func (r *replica) busy(now Time) Time {
	begin := Never
	for i := range r.batches {
		if fl := &r.batches[i].flight; fl.active {
			begin = min(begin, fl.start)
		}
	}
	return r.result.Busy + max(0, now-max(begin, r.busyUntil))
}

// slotsOf returns how the memory of r is divided at the time at. Nothing else may happen before
// that time.
func (r *replica) slotsOf(m SlotMemory, at Time) Slots {
	all, shared := m.Slots()
	d := Slots{Tokens: -shared, External: all + shared}
	for i := range r.batches {
		b := &r.batches[i]
		begun := 0
		if b.step.Decodes > 0 {
			begun = b.flight.begun(at)
		}
		for s := b.members.first; s != nil; s = s.newer() {
			stored := s.Context()
			if s.decoding {
				stored += begun
			}
			room := m.Room(s, stored)
			if s.foreseen {
				stored, room = b.forecast.occupied(s, begun)
			}
			d.give(s, stored, room)
		}
		if !b.flight.active {
			continue
		}
		for i := range b.step.Prefill {
			d.Tokens += int64(b.step.Prefill[i].New)
			d.Reserved -= int64(b.step.Prefill[i].New)
		}
	}
	d.Add(r.paused.slots)
	if d.Tokens < 0 { // what is shared is shared by KV caches under way, too
		d.External, d.Tokens = d.External+d.Tokens, 0
	}
	return d
}
