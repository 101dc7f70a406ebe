package scenarios

import (
	"cmp"
	"strings"

	"github.com/llmsim/llmsim/models/steptime"
)

// defaultSlots is the largest default number of slots.
const defaultSlots = 32

// findAdapters returns the adapters of a server on the machine, also with their defaults filled in.
func (v *server) findAdapters(m *machine) (*Adapters, steptime.Adapters) {
	if v.written.Adapters == nil {
		return nil, steptime.Adapters{}
	}
	a := *v.written.Adapters
	a.Slots = cmp.Or(a.Slots, min(a.Count, defaultSlots))
	a.MaxRank, a.Layers = cmp.Or(a.MaxRank, a.Rank), cmp.Or(a.Layers, "all")
	switch {
	case a.Rank > a.MaxRank:
		v.problem("adapters.rank", "found %d; a slot has room for a rank of %d "+
			"(adapters.max-rank); set max-rank to %d, or leave it out", a.Rank, a.MaxRank,
			roomOf(a.Rank))
	case a.Slots < a.Count && m.hostLink == nil && m.accelerator != nil:
		v.problem("adapters.slots", "found %d for %d adapters; %s has no link to host memory, so "+
			"each adapter needs a slot: set it to %d", a.Slots, a.Count, m.accelerator.Name,
			a.Count)
	case v.written.Steps != nil:
		v.problem("adapters", "given step times (steps) leave no place for those of adapters; "+
			"leave one of the two out")
	}
	if a.Slots > a.Count {
		v.warn("adapters.slots is %d for %d adapters; the others stay empty and take memory",
			a.Slots, a.Count)
	}
	if a.Slots < a.Count {
		v.warn("requests wait while those of other adapters use all %d slots (adapters.slots)",
			a.Slots)
	}
	if room := roomOf(a.MaxRank); room != a.MaxRank && strings.HasPrefix(
		cmp.Or(v.written.Engine.Preset, "vllm"), "vllm") {
		v.warn("vLLM has no slots for a rank of %d; the nearest adapters.max-rank is %d", a.MaxRank,
			room)
	}
	return &a, steptime.Adapters{Count: a.Count, Slots: a.Slots, Rank: a.Rank, Room: a.MaxRank,
		AttentionOnly: a.Layers == "attention", Zipf: a.Zipf}
}

// roomOf returns the smallest rank for which vLLM has slots that have room for adapters of a rank
// (MaxLoRARanks in vllm/config/lora.py, v0.15), and the rank itself where that is none.
func roomOf(rank int) int {
	for _, room := range []int{1, 8, 16, 32, 64, 128, 256, 320, 512} {
		if rank <= room {
			return room
		}
	}
	return rank
}
