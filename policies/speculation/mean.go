package speculation

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// MeanStep describes a step in which each sequence has a draft of the length that the policy of
// lengths chooses for it.
type MeanStep struct {
	// Tokens is the number of drafted tokens of a sequence that the model verifies.
	Tokens int
	// Drafting is the time that the drafts add to the step, and FLOPs the drafter's operations.
	Drafting sim.Time
	FLOPs    float64
	// Given is the mean number of tokens that the step gives to a sequence.
	Given float64
}

// PromptTime returns the time that drafting adds to a step of prompt chunks alone, for which the
// model takes verify: a drafter with a KV cache of its own computes the chunks too.
func (p *Speculator) PromptTime(chunks []sim.Chunk, verify sim.Time) sim.Time {
	t := p.c.Drafter.Duration(&Load{Prefill: chunks})
	if p.c.Ahead {
		return max(0, t-verify)
	}
	return t
}

// MeanStep returns the step of n sequences that store context tokens in total. The drafter catches
// up with the tokens that a step gives on average.
func (p *Speculator) MeanStep(n int, context int64) MeanStep {
	outlook := Outlook{speculator: p}
	outlook.look(n, context)
	length := min(p.c.Lengths.Length(&outlook), outlook.most)
	if length == 0 {
		return MeanStep{Given: 1}
	}
	d := &p.drafts[length]
	load := Load{Expanded: d.Expanded, Context: context}
	for range length {
		load.Sequences = append(load.Sequences, n)
	}
	behind := d.reaches(length)
	if p.c.Recompute {
		behind = d.mean - 1
	}
	load.Behind = int(math.Round(float64(n) * behind))
	m := MeanStep{Tokens: d.Tokens, FLOPs: p.c.Drafter.FLOPs(&load), Given: d.mean}
	step := sim.Step{Decodes: n, DecodeTokens: n * (1 + d.Tokens)}
	step.Context = context + int64(step.DecodeTokens)
	m.Drafting = p.c.Drafter.Duration(&load) + p.host(n)
	if p.c.Ahead {
		m.Drafting = outlook.Time(length) - p.c.Verify.Duration(&step)
	}
	if p.matching() { // a share of the sequences has a draft
		m.Given = 1 + p.c.Match*(d.mean-1)
	}
	return m
}
