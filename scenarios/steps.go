package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

// Steps predicts the steps of a scenario without running it.
type Steps struct {
	// Scenario has the defaults filled in on which the predictions rest.
	Scenario    Scenario
	Model       *models.Architecture
	Accelerator hardware.Accelerator
	Memory      steptime.MemoryPlan
	Clock       *steptime.Clock
	Warnings    []string
}

// Steps readies the step times of the scenario. What is wrong is an InputError.
func (f *File) Steps(registry *policies.Registry) (*Steps, error) {
	b := &builder{file: f, registry: registry, s: f.Scenario}
	for _, step := range []func(){b.lookUp, b.choosePolicies, b.fit, b.startClock} {
		step()
		if err := b.err(); err != nil {
			return nil, err
		}
	}
	return &Steps{
		Scenario: b.s, Model: b.model, Accelerator: b.accelerator, Memory: b.plan, Clock: b.clock, Warnings: b.warnings,
	}, nil
}

// Steps returns the step times that the simulation uses.
func (s *Simulation) Steps() *Steps {
	return &Steps{
		Scenario: s.Scenario, Model: s.Model, Accelerator: s.Accelerator, Memory: s.Memory, Clock: s.clock, Warnings: s.Warnings,
	}
}
