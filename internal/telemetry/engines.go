package telemetry

import "github.com/llmsim/llmsim/sim"

// probe is a number of tokens that shows how large the units of a KV memory are.
const probe = 1 << 20

// Engines describes the replicas of a simulation that serves the models of the given names.
func Engines(c *sim.Config, models []string) []Engine {
	list := make([]Engine, len(c.Replicas))
	for i := range c.Replicas {
		r := &c.Replicas[i]
		e := Engine{Model: models[r.Model], Context: r.MaxContext, Units: r.Memory.Capacity(),
			Block: 1, Drafts: r.Speculator != nil}
		if units := r.Memory.Units(probe); units > 0 {
			e.Block = max(int(probe/units), 1)
		}
		if e.Context == 0 {
			e.Context = int(min(e.Units*int64(e.Block), probe))
		}
		_, e.Prefixes = r.Memory.(sim.Forgetter)
		list[i] = e
	}
	return list
}
