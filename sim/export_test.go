package sim

import (
	"errors"
	"fmt"
	"slices"
)

// CheckInvariants returns an error if what the comments of the fields say does not hold.
func (s *Simulation) CheckInvariants() error {
	f := s.fleet
	pending := 0
	for i := range f.agenda.heap {
		if f.agenda.heap[i].kind != scaling {
			pending++
		}
	}
	if pending != f.agenda.pending || f.live < 0 {
		return fmt.Errorf("%d live requests; %d events are pending, counted %d", f.live, pending,
			f.agenda.pending)
	}
	if err := f.flows.check(); err != nil {
		return err
	}
	for _, p := range f.pools.list {
		outstanding, accepting := 0, []int(nil)
		for _, i := range p.members {
			m := &f.replicas[i]
			outstanding += m.outstanding
			if m.phase == serving {
				accepting = append(accepting, i)
			}
			if err := m.check(); err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
		}
		if outstanding != p.outstanding || !slices.Equal(accepting, p.accepting) {
			return fmt.Errorf("a pool counts %d requests at %v; its replicas have %d at %v",
				p.outstanding, p.accepting, outstanding, accepting)
		}
	}
	return s.checkBatches()
}

// check holds flows against what its comments say.
func (f *flows) check() error {
	sums := make([]float64, len(f.wires))
	for _, w := range f.list {
		if w.left < 0 || w.left > float64(w.bytes) || w.rate <= 0 || w.soonest > w.end ||
			(w.s == nil) == (w.keep == nil) {
			return fmt.Errorf("the transfer %+v", *w)
		}
		for _, wire := range w.wires {
			sums[wire] += w.rate
		}
	}
	for i, sum := range sums {
		if sum > f.wires[i]*(1+1e-9) {
			return fmt.Errorf("wire %d of %g byte/s carries %g", i, f.wires[i], sum)
		}
	}
	return nil
}

// check holds a replica against what its comments say.
func (r *member) check() error {
	if r.uncomputed < 0 || r.uncomputed > r.prompts || r.outstanding < 0 || r.leases < 0 ||
		r.host.room < 0 || r.accounted > r.now {
		return fmt.Errorf("%d requests with %d of %d tokens uncomputed, %d leases, room for %d "+
			"on the host, accounted to %v at %v", r.outstanding, r.uncomputed, r.prompts, r.leases,
			r.host.room, r.accounted, r.now)
	}
	l := &r.backlog
	n := l.end - l.first
	for b := l.head; b != l.tail; b = b.next {
		n += len(b.list)
	}
	if n != l.n {
		return fmt.Errorf("a backlog of %d counts %d", n, l.n)
	}
	for i := range r.batches {
		b := &r.batches[i]
		stale := 0
		for _, e := range b.finish.entries {
			if e.epoch != e.seq.epoch {
				stale++
			} else if !e.seq.finishing {
				return errors.New("a sequence is not marked as finishing")
			}
		}
		if stale != b.finish.stale {
			return fmt.Errorf("%d entries are stale, counted %d", stale, b.finish.stale)
		}
		for q := range b.All {
			if n, stored := q.Progress(), q.Context(); n < 0 || n > q.Output || stored < 0 ||
				stored >= q.Prompt+q.Output || q.Accepted < 0 || q.Accepted > q.Drafted {
				return fmt.Errorf("a sequence %+v has %d tokens and stores %d", q, n, stored)
			}
		}
		if k := b.forecast; k.active() && (k.origin > b.steps || b.steps > k.until ||
			b.steps > k.begun || k.begun > b.steps+b.flight.steps) {
			return fmt.Errorf("at step %d, a forecast from %d to %d has memory to %d", b.steps,
				k.origin, k.until, k.begun)
		}
	}
	return nil
}

// checkBatches returns an error if the counts of a batch differ from what a visit to its members
// finds: running = len(prefilling) + decodes + held, and the sums over the sequences that decode.
func (s *Simulation) checkBatches() error {
	for i := range s.fleet.replicas {
		for lane := range s.fleet.replicas[i].batches {
			b := &s.fleet.replicas[i].batches[lane]
			var running, decodes, held, drafted int
			var context int64
			for q := range b.All {
				running++
				switch {
				case q.held:
					held++
				case q.decoding:
					decodes++
					drafted += q.drafted
					context += int64(q.Context())
				}
			}
			if running != b.running || running != len(b.prefilling)+decodes+held ||
				decodes != b.decodes || held != b.held || drafted != b.drafted ||
				context != b.context {
				return fmt.Errorf("batch %d of replica %d counts %d running, %d prefilling, %d "+
					"decoding with %d drafted and %d stored tokens, %d held; its members are "+
					"%d, %d with %d and %d, %d", lane, i, b.running, len(b.prefilling), b.decodes,
					b.drafted, b.context, b.held, running, decodes, drafted, context, held)
			}
			if f := &b.flight; f.active && (f.start >= f.end || f.steps < 1 || f.stored < 0 ||
				f.stored > f.steps) {
				return fmt.Errorf("batch %d of replica %d has the flight %+v", lane, i, *f)
			}
		}
	}
	return nil
}

// Looks returns how often somebody looked at a replica of the fleet, to route a request, say.
func (s *Simulation) Looks() int64 {
	n := int64(0)
	for _, p := range s.fleet.pools.list {
		n += p.reads
	}
	return n
}

// PausedSlots returns the slots of all paused sequences of the fleet, as they were summed up and as
// a visit to each finds them.
func (s *Simulation) PausedSlots() (sum, visited Slots) {
	for i := range s.fleet.replicas {
		p := &s.fleet.replicas[i].paused
		sum.Add(p.slots)
		if p.memory == nil {
			continue
		}
		for q := p.first; q != nil; q = q.newer() {
			visited.give(q, q.Stored, p.memory.Room(q, q.Stored))
		}
	}
	return sum, visited
}
