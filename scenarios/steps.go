package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

// Steps predicts the steps of the first pool of a scenario without running it.
type Steps struct {
	// Scenario is the scenario as that pool sees it, with the defaults on which the predictions
	// rest.
	Scenario    Scenario
	Model       *models.Architecture
	Accelerator hardware.Accelerator
	Memory      steptime.MemoryPlan
	Clock       *steptime.Clock
	Warnings    []string
}

// Steps prepares the step times of the scenario. The error is an InputError if the scenario is
// wrong.
func (f *File) Steps(registry *policies.Registry) (*Steps, error) {
	n := &notes{file: f}
	servers := each(n, each(n, layOut(n, registry).fit(), alone), startClock)
	if err := n.err(); err != nil {
		return nil, err
	}
	first := servers[0]
	return &Steps{
		Scenario: first.s, Model: first.config.Model, Accelerator: *first.config.Accelerator,
		Memory: first.plan, Clock: first.clock, Warnings: n.warnings,
	}, nil
}

// Room returns how many sequences with a context of that many tokens fit into the KV memory at
// once.
func (s *Steps) Room(context int) int {
	block := max(1, s.Memory.BlockTokens)
	return s.Memory.Tokens / (max(1, (context+block-1)/block) * block)
}
