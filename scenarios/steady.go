package scenarios

// Unsteady returns the reason why the start and the end of a scenario's runs are part of what it
// shows, so that no request may be left out as warm-up. It returns "" if the scenario has a steady
// state.
func (s *Scenario) Unsteady() string {
	w := &s.Workload
	switch {
	case w.Recorded():
		return "replays a recorded trace"
	case len(s.Fleet.Outages) > 0:
		return "has outages"
	case w.Arrivals.Process == "at-once":
		return "has all its requests at once"
	case w.Rate.changes():
		return "has a rate that changes"
	}
	for i := range w.Classes {
		if w.Classes[i].Rate.changes() {
			return "has a rate that changes"
		}
	}
	for i := range s.Fleet.Pools {
		if s.Fleet.Pools[i].Scaling.Policy != "" {
			return "starts and stops replicas"
		}
	}
	return ""
}

// changes reports whether a rate follows a pattern.
func (r *Rate) changes() bool { return r.Pattern != "" && r.Pattern != "steady" }

// offersRate reports whether requests arrive at a constant rate that does not depend on the
// answers.
func (s *Scenario) offersRate() bool {
	return s.Unsteady() == "" && s.Workload.Arrivals.Process != "closed-loop"
}
