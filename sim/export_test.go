package sim

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
