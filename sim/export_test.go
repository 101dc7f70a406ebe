package sim

// Looks returns how often somebody looked at a replica of the fleet, to route a request, say.
func (s *Simulation) Looks() int64 {
	n := int64(0)
	for _, p := range s.fleet.pools {
		n += p.reads
	}
	return n
}
