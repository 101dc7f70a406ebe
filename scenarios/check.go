package scenarios

import "github.com/llmsim/llmsim/policies"

// CheckNames reports what the scenario names that does not exist: model, hardware, engine, policies
// and their parameters. Whether it fits and runs is another question: see Build.
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
