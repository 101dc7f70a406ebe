//go:build !js

package tuning

import (
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/scenarios"
)

// start sets the files and commands that start the best option.
func (a *Answer) start(s *scenarios.Simulation) error {
	engine, known := launch.EngineOf(s.Scenario.Engine.Preset)
	if !known {
		return nil
	}
	bundle, err := launch.NewBundle(s, engine)
	if err != nil {
		a.Notes = []string{err.Error()} // hardware on which no engine is started
		return nil
	}
	a.bundle, a.Notes = bundle, bundle.Notes
	a.Launch, err = bundle.Lines()
	return err
}
