package scenarios

import "github.com/llmsim/llmsim/policies"

// CheckNames returns an error if the scenario names a model, hardware, an engine, a policy or a
// parameter that does not exist. It does not check whether the scenario fits and runs: see Build.
func (f *File) CheckNames(registry *policies.Registry) error {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.choose()
	if len(n.problems) == 0 {
		routing := f.Scenario.Routing
		choose(&server{notes: n, written: f.Scenario}, l.kinds[0].Anywhere(), "routing",
			&registry.Routing, &routing.Policy, &routing.Params)
	}
	return n.err()
}
