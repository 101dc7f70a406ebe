package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// MemoryEntry is where the memory of each accelerator goes, in bytes and tokens.
type MemoryEntry struct {
	Model         string  `json:"model"`
	Accelerator   string  `json:"accelerator"`
	Tensor        int     `json:"tensor_parallel"`
	Pipeline      int     `json:"pipeline_parallel"`
	Data          int     `json:"data_parallel"`
	Expert        int     `json:"expert_parallel"`
	Fits          bool    `json:"fits"`
	Total         float64 `json:"total"`
	Usable        float64 `json:"usable"`
	Weights       float64 `json:"weights"`
	Experts       float64 `json:"expert_weights,omitempty"`
	Draft         float64 `json:"draft_weights,omitempty"`
	Activations   float64 `json:"activation_peak"`
	Engine        float64 `json:"engine"`
	KV            float64 `json:"kv_cache"`
	Missing       float64 `json:"missing"`
	KVPerToken    float64 `json:"kv_bytes_per_token"`
	BlockTokens   int     `json:"block_tokens"`
	Blocks        int     `json:"kv_blocks"`
	Tokens        int     `json:"kv_tokens"`
	ContextTokens int     `json:"context_tokens"`
	Contexts      int     `json:"concurrent_contexts"`
	WhatWouldFit  string  `json:"what_would_fit,omitempty"`
}

// NewMemoryEntry describes a memory plan.
func NewMemoryEntry(m *scenarios.Memory) MemoryEntry {
	plan, s := &m.Plan, &m.Scenario
	return MemoryEntry{
		Model: s.Model, Accelerator: s.Hardware.Accelerator, Tensor: s.Parallelism.Tensor,
		Pipeline: s.Parallelism.Pipeline,
		Data:     s.Parallelism.Data, Expert: s.Parallelism.Expert,
		Fits: plan.Err() == nil, Total: plan.Total, Usable: plan.Usable, Weights: plan.Weights,
		Experts: plan.Experts, Draft: plan.Draft, Activations: plan.Activations,
		Engine: plan.Context, KV: plan.KV, Missing: plan.Missing, KVPerToken: plan.KVBytesPerToken,
		BlockTokens: plan.BlockTokens, Blocks: plan.Blocks, Tokens: plan.Tokens,
		ContextTokens: plan.ContextTokens, Contexts: plan.Contexts, WhatWouldFit: m.Advice,
	}
}

// Memory prints where the memory of each accelerator goes, line by line.
func Memory(m *scenarios.Memory) (p doc.Blocks) {
	plan, s := &m.Plan, &m.Scenario
	n := s.Parallelism.Tensor * s.Parallelism.Pipeline * s.Parallelism.Data
	p.Heading(fmt.Sprintf("%s on %d × %s", s.Model, n, s.Hardware.Accelerator))
	if tensor := s.Parallelism.Tensor; m.ChosenTensor && tensor > 1 {
		p.Text(fmt.Sprintf("One %s does not hold this model: %d share each layer, the fewest "+
			"that hold it. --tensor-parallel sets another number.", s.Hardware.Accelerator, tensor))
	}
	p.Text("Bytes on each accelerator:")
	p.Gap()
	minus := func(bytes float64) string { return "− " + units.FormatBytes(bytes) }
	rows := [][]string{
		{"memory", units.FormatBytes(plan.Total), "that a program sees"},
		{"usable", units.FormatBytes(plan.Usable),
			fmt.Sprintf("engine %s, utilization %s", s.Engine.Preset,
				units.Percent(s.Memory.Utilization))},
		{"weights", minus(plan.Weights - plan.Experts),
			fmt.Sprintf("%s, tensor %d, pipeline %d", s.Engine.Weights, s.Parallelism.Tensor,
				s.Parallelism.Pipeline)},
		{"activation peak", minus(plan.Activations), stepWords(&s.Batching)},
		{"engine", minus(plan.Context), "driver, libraries, captured graphs"},
		{"KV cache", "= " + units.FormatBytes(plan.KV),
			fmt.Sprintf("%s, %s a token", s.Engine.KVCache,
				units.FormatBytes(plan.KVBytesPerToken))},
	}
	if plan.Experts > 0 {
		rows = slices.Insert(rows, 3, []string{"routed experts", minus(plan.Experts),
			expertWords(s.Parallelism)})
	}
	if plan.Draft > 0 {
		rows = slices.Insert(rows, len(rows)-3,
			[]string{"drafter", minus(plan.Draft), "for speculative decoding, " +
				s.Speculation.Method})
	}
	if plan.Adapters > 0 {
		rows = slices.Insert(rows, len(rows)-3, []string{"adapters", minus(plan.Adapters),
			fmt.Sprintf("%d slots of rank %d", s.Adapters.Slots, s.Adapters.MaxRank)})
	}
	p.Table([]string{"", "bytes", ""}, rows, 0, 2)
	p.Gap()
	memoryBar(&p, m)
	if err := plan.Err(); err != nil {
		words := "Does not fit: " + units.FormatBytes(plan.Missing) +
			" are missing on each accelerator"
		if plan.Missing == 0 {
			words = "D" + err.Error()[1:]
		}
		p.Text(doc.Bad(words[:len("Does not fit")]) + words[len("Does not fit"):] + ". " + m.Advice)
		return p
	}
	ranks := ""
	if plan.Ranks > 1 {
		ranks = fmt.Sprintf(" on each of %d ranks", plan.Ranks)
	}
	p.Text(fmt.Sprintf("%s KV blocks of %d tokens%s hold %s tokens: %s requests of %s "+
		"tokens at once.",
		units.Count(plan.Blocks), plan.BlockTokens, ranks, units.Count(plan.Tokens),
		units.Count(plan.Contexts), units.Count(plan.ContextTokens)))
	return p
}

// expertWords says how routed experts are spread.
func expertWords(p scenarios.Parallelism) string {
	if p.Expert == 1 {
		return "each split like the layers"
	}
	return fmt.Sprintf("1/%d of the experts", p.Expert)
}

// memoryBar draws the parts of the memory, and what they are. Where they are more than there is,
// the bar is that much.
func memoryBar(p *doc.Blocks, m *scenarios.Memory) {
	plan := &m.Plan
	names := []string{"weights", "activations", "engine", "KV"}
	parts := []float64{plan.Weights + plan.Draft + plan.Adapters, plan.Activations,
		plan.Context, plan.KV}
	sum := 0.0
	var legend []string
	for i, part := range parts {
		sum += part
		if part > 0 {
			legend = append(legend, fmt.Sprintf("%s %s %s", doc.Shade(i), names[i],
				units.Percent(part/plan.Total)))
		}
	}
	if sum < plan.Total {
		legend = append(legend, "· free "+units.Percent(1-sum/plan.Total))
	}
	p.Line(" " + doc.Blue(doc.Stack(parts, max(plan.Total, sum), doc.Columns-2)))
	p.Line(" " + strings.Join(legend, "  "))
	p.Gap()
}

// stepWords says how large a step is for which activations have room.
func stepWords(p *scenarios.Policy) string {
	if _, tokens := p.Limits(); tokens > 0 {
		return fmt.Sprintf("steps of %d tokens", tokens)
	}
	return "steps of any size"
}
