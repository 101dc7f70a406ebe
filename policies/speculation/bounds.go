package speculation

import "github.com/llmsim/llmsim/sim"

// Reach returns, for each kind of request, upper bounds of the probabilities that a step accepts at
// least 1, 2, … drafted tokens. The bounds hold for every policy of lengths and whatever happened
// in the steps before, since each is the largest probability over drafts of all lengths.
func (p *Speculator) Reach() [][]float64 {
	most := len(p.drafts) - 1
	list := make([][]float64, len(p.c.Acceptance))
	for kind := range list {
		list[kind] = make([]float64, most)
		for _, d := range p.drafts {
			for i, chance := range d.Reach[kind] {
				if p.c.Match > 0 {
					chance *= p.c.Match
				}
				list[kind][i] = max(list[kind][i], chance)
			}
		}
	}
	return list
}

// Least returns a lower bound of the time of a step in which a sequence with that context has a
// draft. batch is the largest number of sequences in a batch; +Inf is any number.
func (p *Speculator) Least(context int64, batch float64) sim.Time {
	shortest := 1
	longest := len(p.drafts) - 1
	budget := float64(p.c.TokenBudget)
	kept := budget == 0 || batch*float64(1+p.drafts[longest].Tokens) <= budget
	if _, fixed := p.c.Lengths.(Fixed); fixed && kept {
		shortest = longest // no step has another length
	}
	least := sim.Never
	for length := shortest; length <= longest; length++ {
		d := &p.drafts[length]
		step := sim.Step{Decodes: 1, DecodeTokens: 1 + d.Tokens, Context: context}
		load := Load{Expanded: d.Expanded, Context: context}
		for range length {
			load.Sequences = append(load.Sequences, 1)
		}
		verify, drafting := p.c.Verify.Duration(&step), p.c.Drafter.Duration(&load)
		total := verify + drafting
		if p.c.Ahead {
			total = max(verify, drafting)
		}
		least = min(least, total+p.host(1))
	}
	return least
}
