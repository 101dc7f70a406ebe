package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/models/steptime"
)

// defaultSlots is the largest default number of slots.
const defaultSlots = 32

// findAdapters returns the adapters of a server on the machine, also with their defaults filled in.
func (v *view) findAdapters(m *machine) (*Adapters, steptime.Adapters) {
	if v.s.Adapters == nil {
		return nil, steptime.Adapters{}
	}
	a := *v.s.Adapters
	a.Slots = cmp.Or(a.Slots, min(a.Count, defaultSlots))
	a.MaxRank, a.Layers = cmp.Or(a.MaxRank, a.Rank), cmp.Or(a.Layers, "all")
	switch {
	case a.Rank > a.MaxRank:
		v.problem("adapters.rank", "found %d; a slot has room for a rank of %d (adapters.max-rank)",
			a.Rank, a.MaxRank)
	case a.Slots < a.Count && m.hostLink == nil && m.accelerator != nil:
		v.problem("adapters.slots", "found %d for %d adapters; %s has no link to host memory, so "+
			"each adapter needs a slot", a.Slots, a.Count, m.accelerator.Name)
	case v.s.Steps != nil:
		v.problem("adapters", "given step times (steps) leave no place for those of adapters; "+
			"leave one of the two out")
	}
	return &a, steptime.Adapters{Count: a.Count, Slots: a.Slots, Rank: a.Rank, Room: a.MaxRank,
		AttentionOnly: a.Layers == "attention", Zipf: a.Zipf}
}
