package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

// Steps predicts the steps of a scenario without running it: those of the first pool, where there are several.
type Steps struct {
	// Scenario is as that pool sees it, and has the defaults filled in on which the predictions rest.
	Scenario    Scenario
	Model       *models.Architecture
	Accelerator hardware.Accelerator
	Memory      steptime.MemoryPlan
	Clock       *steptime.Clock
	Warnings    []string
}

// Steps readies the step times of the scenario. What is wrong is an InputError.
func (f *File) Steps(registry *policies.Registry) (*Steps, error) {
	fleet := newFleetBuilder(f, registry)
	fleet.each((*builder).lookUp, (*builder).choosePolicies, (*builder).fit, (*builder).startClock)
	if err := fleet.err(); err != nil {
		return nil, err
	}
	return fleet.pools[0].steps(fleet.warnings), nil
}

func (s *server) steps(warnings []string) *Steps {
	return &Steps{Scenario: s.s, Model: s.Model, Accelerator: *s.Accelerator, Memory: s.Plan, Clock: s.Clock, Warnings: warnings}
}

// Room returns how many sequences with a context of that many tokens fit into the KV memory at once.
func (s *Steps) Room(context int) int {
	block := max(1, s.Memory.BlockTokens)
	return s.Memory.Tokens / (max(1, (context+block-1)/block) * block)
}

// Steps returns the step times that the simulation uses.
func (s *Simulation) Steps() *Steps {
	steps := s.pools[0].steps(s.Warnings)
	steps.Scenario = s.Scenario
	if pools := s.Scenario.Fleet.Pools; len(pools) > 0 {
		steps.Scenario, _ = pools[0].over(s.Scenario)
	}
	return steps
}
