package candidate

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

// dimension is one choice for a kind of replica. Any of its values can be combined with any choice
// of the other dimensions.
type dimension struct {
	size int
	// set makes the choice of value i in a scenario.
	set func(s *draft, i int)
	// word names value i in labels; nil if the shape of a replica names it.
	word func(i int) string
	// common is true if both sides of a group have the same choice.
	common bool
}

// dimensions lists the choices for a replica, the first varying slowest. side may have lists of its
// own in place of the menu's; nil stands for a replica that does both. other is the other side of
// the group.
// mixture is set for models with routed experts.
func dimensions(m *menu.Menu, side, other *menu.Side, mixture bool) []dimension {
	if side == nil {
		side, other = &menu.Side{}, &menu.Side{}
	}
	hardware, ownHardware := menu.Own(m.Hardware, side.Hardware, other.Hardware)
	tensor, ownTensor := menu.Own(m.Tensor, side.Tensor, other.Tensor)
	pipeline, ownPipeline := menu.Own(m.Pipeline, side.Pipeline, other.Pipeline)
	data, ownData := menu.Own(m.Data, side.Data, other.Data)
	expert, ownExpert := menu.Own(m.Expert, side.Expert, other.Expert)
	weights, ownWeights := menu.Own(m.Weights, side.Weights, other.Weights)
	memory, ownMemory := menu.Own(m.Memory, side.Memory, other.Memory)
	batching, ownBatching := menu.Own(m.Batching, side.Batching, other.Batching)
	drafts := append([]scenarios.Speculation{{}}, m.Speculation...)
	return []dimension{
		{len(hardware), func(s *draft, i int) { s.choose(&hardware[i], hardware) }, nil,
			!ownHardware},
		{len(tensor), func(s *draft, i int) { s.Scenario.Parallelism.Tensor = tensor[i] }, nil,
			!ownTensor},
		{len(pipeline), func(s *draft, i int) { s.Scenario.Parallelism.Pipeline = pipeline[i] },
			nil, !ownPipeline},
		{len(data), func(s *draft, i int) { s.Scenario.Parallelism.Data = data[i] }, nil,
			!ownData},
		experts(expert, mixture, !ownExpert),
		{max(1, len(m.Engines)), func(s *draft, i int) {
			choose(&s.Scenario.Engine.Preset, menu.OrNone(m.Engines)[i])
		},
			func(i int) string { return m.Engines[i] }, true},
		{len(weights), func(s *draft, i int) { choose(&s.Scenario.Engine.Weights, weights[i]) },
			func(i int) string { return weights[i] }, !ownWeights},
		{max(1, len(m.KVCache)), func(s *draft, i int) {
			choose(&s.Scenario.Engine.KVCache, menu.OrNone(m.KVCache)[i])
		},
			func(i int) string { return "KV " + m.KVCache[i] }, true},
		{len(memory), func(s *draft, i int) { s.Scenario.Memory = memory[i] },
			func(i int) string { return MemoryWords(memory[i]) }, !ownMemory},
		{len(batching), func(s *draft, i int) { s.Scenario.Batching = batching[i] },
			func(i int) string { return menu.Settings(batching[i]) }, !ownBatching},
		{len(drafts), func(s *draft, i int) { s.speculate(drafts, i) },
			func(i int) string { return draftWords(drafts, i) }, true},
	}
}

// experts is the choice of a degree of expert parallelism. A list that has none is a choice of two
// for a mixture of experts: each expert split over the accelerators of a stage, or the experts
// spread over them. Beside data-parallel attention they are spread only, as in a scenario.
func experts(list []int, mixture, common bool) dimension {
	if !mixture || len(list) != 1 || list[0] != 0 {
		return dimension{len(list), func(s *draft, i int) {
			s.Scenario.Parallelism.Expert = list[i]
		}, nil, common}
	}
	return dimension{2, func(s *draft, i int) {
		p := &s.Scenario.Parallelism
		if i == 1 {
			p.Expert, s.twin = p.Tensor, p.Tensor <= 1 || p.Data > 1
		}
	}, nil, common}
}

// choose sets what the menu gives, and leaves what it does not give to the plan's engine.
func choose(word *string, menu string) {
	if menu != "" {
		*word = menu
	}
}

// draftWords names a way of speculative decoding.
func draftWords(list []scenarios.Speculation, i int) string {
	if i == 0 {
		return "no drafts"
	}
	d := &list[i]
	words := d.Method
	if d.Draft != "" {
		words += " " + d.Draft
	}
	if d.Tokens > 0 {
		words += fmt.Sprintf(" of %d", d.Tokens)
	}
	return words
}

// MemoryWords names a choice of memory, without its price.
func MemoryWords(m scenarios.KVMemory) string {
	m = Unpriced(m)
	var stores []string
	for _, t := range m.Tiers {
		stores = append(stores, strings.TrimSpace(t.Size+" "+t.Store))
	}
	if m.Tiers = nil; len(stores) == 0 {
		return menu.Settings(m)
	}
	words := strings.Join(stores, " + ")
	if rest := menu.Settings(m); rest != "" {
		words += " " + rest
	}
	return words
}

// digits writes n in a number system whose places have sizes digits each, the last varying
// fastest.
func digits(n int, sizes []int) []int {
	list := make([]int, len(sizes))
	for i := len(sizes) - 1; i >= 0; i-- {
		list[i] = n % sizes[i]
		n /= sizes[i]
	}
	return list
}

// combinations returns how many numbers that number system has. It stops counting beyond
// mostOptions.
func combinations(sizes []int) int {
	n := 1
	for _, size := range sizes {
		if n *= size; n > mostOptions {
			return mostOptions + 1
		}
	}
	return n
}

// mostOptions bounds a menu.
const mostOptions = 2_000_000
