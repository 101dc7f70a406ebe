package scenarios

import "github.com/llmsim/llmsim/policies"

// CheckNames returns an error if the scenario names a model, hardware, an engine, a policy or a
// parameter that does not exist. It does not check whether the scenario fits and runs: see Build.
func (f *File) CheckNames(registry *policies.Registry) error {
	n := &notes{file: f}
	servers := layOut(n, registry).choose()
	if len(n.problems) == 0 {
		first, routing := servers[0], f.Scenario.Routing
		choose(&view{notes: n, registry: registry, s: f.Scenario}, first.config.Anywhere(),
			"routing", &registry.Routing, &routing.Policy, &routing.Params)
	}
	return n.err()
}
