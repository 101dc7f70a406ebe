package capacity

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
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
func (m *Menu) dimensions(side, other *Side, mixture bool) []dimension {
	if side == nil {
		side, other = &Side{}, &Side{}
	}
	hardware, ownHardware := own(m.Hardware, side.Hardware, other.Hardware)
	tensor, ownTensor := own(m.Tensor, side.Tensor, other.Tensor)
	pipeline, ownPipeline := own(m.Pipeline, side.Pipeline, other.Pipeline)
	data, ownData := own(m.Data, side.Data, other.Data)
	expert, ownExpert := own(m.Expert, side.Expert, other.Expert)
	weights, ownWeights := own(m.Weights, side.Weights, other.Weights)
	memory, ownMemory := own(m.Memory, side.Memory, other.Memory)
	batching, ownBatching := own(m.Batching, side.Batching, other.Batching)
	drafts := append([]scenarios.Speculation{{}}, m.Speculation...)
	return []dimension{
		{len(hardware), func(s *draft, i int) { s.choose(&hardware[i], hardware) }, nil,
			!ownHardware},
		{len(tensor), func(s *draft, i int) { s.scenario.Parallelism.Tensor = tensor[i] }, nil,
			!ownTensor},
		{len(pipeline), func(s *draft, i int) { s.scenario.Parallelism.Pipeline = pipeline[i] },
			nil, !ownPipeline},
		{len(data), func(s *draft, i int) { s.scenario.Parallelism.Data = data[i] }, nil,
			!ownData},
		m.experts(expert, mixture, !ownExpert),
		{max(1, len(m.Engines)), func(s *draft, i int) {
			choose(&s.scenario.Engine.Preset, orNone(m.Engines)[i])
		},
			func(i int) string { return m.Engines[i] }, true},
		{len(weights), func(s *draft, i int) { choose(&s.scenario.Engine.Weights, weights[i]) },
			func(i int) string { return weights[i] }, !ownWeights},
		{max(1, len(m.KVCache)), func(s *draft, i int) {
			choose(&s.scenario.Engine.KVCache, orNone(m.KVCache)[i])
		},
			func(i int) string { return "KV " + m.KVCache[i] }, true},
		{len(memory), func(s *draft, i int) { s.scenario.Memory = memory[i] },
			func(i int) string { return settings(memory[i]) }, !ownMemory},
		{len(batching), func(s *draft, i int) { s.scenario.Batching = batching[i] },
			func(i int) string { return settings(batching[i]) }, !ownBatching},
		{len(drafts), func(s *draft, i int) { s.speculate(drafts, i) },
			func(i int) string { return draftWords(drafts, i) }, true},
	}
}

// experts is the choice of a degree of expert parallelism. A list that has none is a choice of two
// for a mixture of experts: each expert split over the accelerators of a stage, or the experts
// spread over them. Beside data-parallel attention they are spread only, as in a scenario.
func (m *Menu) experts(list []int, mixture, common bool) dimension {
	if !mixture || len(list) != 1 || list[0] != 0 {
		return dimension{len(list), func(s *draft, i int) {
			s.scenario.Parallelism.Expert = list[i]
		}, nil, common}
	}
	return dimension{2, func(s *draft, i int) {
		p := &s.scenario.Parallelism
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

// own returns the list of a side, or the menu's list if the side has none, and reports whether one
// of the two sides has a list of its own. An empty list becomes a list with one value that leaves
// the choice to the scenario.
func own[T any](menu, side, other []T) ([]T, bool) {
	if len(side) > 0 {
		return side, true
	}
	return orNone(menu), len(other) > 0
}

// orNone returns the list or, if it is empty, a list with one value that leaves the choice to the
// scenario's defaults.
func orNone[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
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

// settings writes a policy and its parameters on one line.
func settings(policy any) string {
	plain, err := strict.Plain(policy)
	if err != nil {
		return fmt.Sprint(policy)
	}
	return strings.NewReplacer("map[", "", "]", "").Replace(fmt.Sprint(plain))
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
