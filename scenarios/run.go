package scenarios

import (
	"context"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// Run builds the scenario and simulates it: Build, then Simulation.Run.
func (f *File) Run(ctx context.Context, registry *policies.Registry,
	observers ...sim.Observer) (*Result, error) {
	s, err := f.Build(registry)
	if err != nil {
		return nil, err
	}
	return s.Run(ctx, observers...)
}
