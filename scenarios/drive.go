package scenarios

import "github.com/llmsim/llmsim/sim"

// Config returns what Run would simulate, for a loop that is driven from outside. Its policies are
// those of the simulation, which then is not run. The caller closes Source.
func (s *Simulation) Config() sim.Config { return s.config }

// Models returns the names of the models that are served, by sim.Request.Model.
func (s *Simulation) Models() []string {
	var names []string
	for i := range s.pools {
		if p := &s.pools[i]; p.serves == len(names) {
			names = append(names, p.model.Name)
		}
	}
	return names
}
