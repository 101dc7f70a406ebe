//go:build !js

package detail

import (
	"slices"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/scenarios"
)

// start sets the files and commands that start the fleet.
func start(d *answer.Deployment, s *scenarios.Simulation) error {
	bundle, err := launch.NewBundle(s, "")
	if err != nil {
		d.Unstartable = err.Error()
		return nil
	}
	d.Bundle, d.Lacks = bundle, bundle.Notes
	for i := range bundle.Servers {
		line, err := bundle.Servers[i].Line()
		if err != nil {
			return err
		}
		if !slices.Contains(d.Launch, line) {
			d.Launch = append(d.Launch, line)
		}
	}
	return nil
}
