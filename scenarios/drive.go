package scenarios

import (
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Config returns the configuration that Run would simulate, for a caller that drives the loop
// itself. It has the policies of the simulation, so Run must not be called afterwards. The caller
// closes Source.
func (s *Simulation) Config() sim.Config { return s.config }

// Key returns the properties of the first pool's servers on which accuracy depends. It returns
// false if the scenario changes step times, so that no measurement applies.
func (s *Simulation) Key() (deployment.Key, bool) { return s.pools[0].Key() }

// Keys returns the properties of each kind of server on which accuracy depends.
func (s *Simulation) Keys() []deployment.Key {
	var list []deployment.Key
	for _, k := range kindsOf(s.pools) {
		key, _ := k[0].Key()
		list = append(list, key)
	}
	return list
}

// Evidence returns the evidence for the kind of server with the lowest grade.
func (s *Simulation) Evidence() evidence.Evidence { return weakest(kindResults(kindsOf(s.pools))) }

// StepByStep makes a simulation take each step by itself, and report the tokens of each. The result
// is the same. It is called before Run.
func (s *Simulation) StepByStep(tokens func(q *sim.Sequence, n int, at sim.Time)) {
	s.config.MaxLeap, s.config.Tokens = 1, tokens
}

// OnTransfer has f called for each KV cache that goes from prefill to decode.
func (s *Simulation) OnTransfer(f func(sim.Transfer)) { s.config.Sent = f }

// ReplaceClocks gives each replica another clock, such as one that executes the steps. It must be
// called before Run. The result's figures of work, cost and energy stay predicted ones.
func (s *Simulation) ReplaceClocks(replace func(predicted sim.StepClock) sim.StepClock) {
	for i := range s.config.Replicas {
		r := &s.config.Replicas[i]
		r.Clock = replace(r.Clock)
	}
}

// ReplaceSource gives the simulation another source of requests in place of the workload, such as
// one that waits for wall-clock time. It must be called before Run.
func (s *Simulation) ReplaceSource(replace func(workload sim.Source) sim.Source) {
	s.config.Source = replace(s.config.Source)
}

// Speculators returns the speculator of each replica; nil for replicas without drafts.
func (s *Simulation) Speculators() []*speculation.Speculator { return s.speculators }

// ReplaceSpeculators gives each replica with drafts another speculator, such as one that makes real
// drafts. It must be called before Run. The figures of drafts in the result are what the
// predicting speculators were given.
func (s *Simulation) ReplaceSpeculators(
	replace func(predicted *speculation.Speculator) sim.Speculator) {
	for i, p := range s.speculators {
		if p != nil {
			s.config.Replicas[i].Speculator = replace(p)
		}
	}
}
