package sim

import "fmt"

// CheckBatches returns an error if the counts of a batch differ from what a visit to its members
// finds: running = len(prefilling) + decodes + held, and the sums over the sequences that decode.
func (s *Simulation) CheckBatches() error {
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
