package scenarios

import "github.com/llmsim/llmsim/policies"

// CheckNames tells whether all that the scenario names exists: model, hardware, engine, policies and their parameters. Whether it
// fits and runs is another question: see Build.
func (f *File) CheckNames(registry *policies.Registry) error {
	fleet := newFleetBuilder(f, registry)
	fleet.each((*builder).lookUp, (*builder).choosePolicies)
	fleet.then(func() {
		choose(fleet.builders[0], "routing", &registry.Routing, &fleet.s.Routing.Policy, &fleet.s.Routing.Params)
	})
	return fleet.err()
}
