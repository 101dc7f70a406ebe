package compare

import "github.com/llmsim/llmsim/scenarios"

// unsteady says why the start of a scenario's runs is part of what it shows, so that no request may
// be left out as warm-up; it is empty where the scenario has a steady state.
func unsteady(s *scenarios.Scenario) string {
	w := &s.Workload
	switch {
	case w.Recorded():
		return "replays a recorded trace"
	case len(s.Fleet.Outages) > 0:
		return "has outages"
	case w.Arrivals.Process == "at-once":
		return "has all its requests at once"
	case changing(&w.Rate):
		return "has a rate that changes"
	}
	for i := range w.Classes {
		if changing(&w.Classes[i].Rate) {
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

// changing reports whether a rate follows a pattern.
func changing(r *scenarios.Rate) bool { return r.Pattern != "" && r.Pattern != "steady" }
