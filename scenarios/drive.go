package scenarios

import (
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Config returns what Run would simulate, for a loop that is driven from outside. Its policies are
// those of the simulation, which then is not run. The caller closes Source.
func (s *Simulation) Config() sim.Config { return s.config }

// Key names what the first pool's servers are, as far as accuracy depends on it. It returns false
// where the scenario changes step times, so that no measurement applies.
func (s *Simulation) Key() (deployment.Key, bool) { return s.pools[0].Key() }

// Keys returns what each kind of server is, as far as accuracy depends on it.
func (s *Simulation) Keys() []deployment.Key {
	var list []deployment.Key
	for _, k := range kindsOf(s.pools) {
		key, _ := k[0].Key()
		list = append(list, key)
	}
	return list
}

// Evidence returns what the predictions rest on: that of the kind of server of the lowest grade.
func (s *Simulation) Evidence() evidence.Evidence { return weakest(kindResults(kindsOf(s.pools))) }

// StepByStep makes a simulation take each step by itself, and report the tokens of each. The result
// is the same. It is called before Run.
func (s *Simulation) StepByStep(tokens func(q *sim.Sequence, n int, at sim.Time)) {
	s.config.MaxLeap, s.config.Tokens = 1, tokens
}

// ReplaceClocks gives each replica another clock than the one that predicts its steps: one that
// executes them, say. It is called before Run. The result's account of work, cost and energy stays
// the predicted one.
func (s *Simulation) ReplaceClocks(replace func(predicted sim.StepClock) sim.StepClock) {
	for i := range s.config.Replicas {
		r := &s.config.Replicas[i]
		r.Clock = replace(r.Clock)
	}
}

// ReplaceSource gives the simulation another source of requests than the workload: one that waits
// for their time, say. It is called before Run.
func (s *Simulation) ReplaceSource(replace func(workload sim.Source) sim.Source) {
	s.config.Source = replace(s.config.Source)
}

// Speculators returns those of each replica; nil for replicas without drafts.
func (s *Simulation) Speculators() []*speculation.Speculator { return s.speculators }

// ReplaceSpeculators gives each replica with drafts another speculator than the one that predicts
// them: one that makes them, say. It is called before Run. The result counts what the predicting
// ones were told.
func (s *Simulation) ReplaceSpeculators(
	replace func(predicted *speculation.Speculator) sim.Speculator) {
	for i, p := range s.speculators {
		if p != nil {
			s.config.Replicas[i].Speculator = replace(p)
		}
	}
}
