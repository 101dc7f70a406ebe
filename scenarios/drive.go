package scenarios

import (
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// Config returns what Run would simulate, for a loop that is driven from outside. Its policies are
// those of the simulation, which then is not run. The caller closes Source.
func (s *Simulation) Config() sim.Config { return s.config }

// Key names what the first pool's servers are, as far as accuracy depends on it. It returns false
// where the scenario changes step times, so that no measurement applies.
func (s *Simulation) Key() (deployment.Key, bool) { return s.pools[0].Key() }

// StepByStep makes a simulation take each step by itself, and tells tokens of each. The result is the same. It is called before Run.
func (s *Simulation) StepByStep(tokens func(q *sim.Sequence, n int, at sim.Time)) {
	s.config.MaxLeap, s.config.Tokens = 1, tokens
}

// Models returns the names of the models that are served, by sim.Request.Model.
func (s *Simulation) Models() []string {
	var names []string
	for i := range s.pools {
		if p := &s.pools[i]; p.serves == len(names) {
			names = append(names, p.Model.Name)
		}
	}
	return names
}
