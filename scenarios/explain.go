package scenarios

import "github.com/llmsim/llmsim/scenarios/strict"

// Explain returns the scenario with every default filled in, as YAML that gives the same result. What the scenario and the
// command line leave open is marked as a default.
func (s *Simulation) Explain() ([]byte, error) {
	return strict.Encode(s.Scenario, s.file.given)
}
