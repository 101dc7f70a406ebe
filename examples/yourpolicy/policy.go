package main

import (
	"math"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// ShortestPrompt starts the shortest prompt first. A second of waiting is worth some tokens, so
// that nobody waits for ever. Its parameters are the fields with tags.
type ShortestPrompt struct {
	MaxSequences int     `json:"max-sequences" default:"256" role:"sequences" jsonschema:"sequences in a batch"`
	TokenBudget  int     `json:"token-budget" default:"8192" role:"tokens" jsonschema:"tokens in a step"`
	Ageing       float64 `json:"ageing" default:"0" jsonschema:"prompt tokens that a second of waiting is worth"`
	waiting      sim.Queue
}

// New implements policies.Settings: it makes the policy for a replica.
func (p ShortestPrompt) New(policies.Deployment) (sim.Scheduler, error) { return &p, nil }

// Enqueue implements sim.Scheduler: s arrived.
func (p *ShortestPrompt) Enqueue(s *sim.Sequence) { p.waiting.Push(s) }

// Waiting implements sim.Scheduler.
func (p *ShortestPrompt) Waiting() int { return p.waiting.Len() }

// Schedule implements sim.Scheduler: a step has a token of each that decodes, and whole prompts
// while the budget lasts.
func (p *ShortestPrompt) Schedule(b *sim.Batch) sim.Decision {
	for !b.Decode() { // KV memory is short: the newest gives way, and nobody starts in this step
		if p.waiting.Push(b.Preempt(b.Newest())); b.Decode() {
			return sim.Decision{Steps: 1}
		}
	}
	for budget := p.TokenBudget - b.DecodeTokens(); budget > 0 && p.waiting.Len() > 0 &&
		b.Running() < p.MaxSequences; {
		s := p.first()
		n := b.Prefill(s, math.MaxInt)
		if n == 0 { // no memory for it
			break
		}
		p.waiting.Remove(s)
		budget -= n
	}
	return sim.Decision{Steps: sim.Forever} // until somebody arrives or finishes
}

// first returns the sequence that starts next.
func (p *ShortestPrompt) first() *sim.Sequence {
	best, least := p.waiting.Front(), math.Inf(1)
	for s := range p.waiting.All {
		if key := float64(s.Prompt) + p.Ageing*s.Arrival.Seconds(); key < least {
			best, least = s, key
		}
	}
	return best
}
