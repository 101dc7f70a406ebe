package batching

import "github.com/llmsim/llmsim/sim"

// NewSarathi returns the scheduler of Sarathi-Serve, for at most maxSequences at once and
// tokenBudget tokens a step (Agrawal et al., OSDI 2024, algorithm 3). Prompts never stall decoding:
// the decoding sequences are in every step, and chunks of prompts use the rest of the budget, begun
// prompts first. So the budget bounds the time between tokens.
func NewSarathi(maxSequences, tokenBudget int) (*Continuous, error) {
	return newContinuous(Limits{MaxSequences: maxSequences, TokenBudget: tokenBudget}, &fifo{})
}

// NewHybridOnly returns Sarathi-Serve without chunks. Whole prompts are computed in the steps in
// which others decode, as far as the budget allows (Agrawal et al., table 4,
// "hybrid-batching-only").
func NewHybridOnly(maxSequences, tokenBudget int) (*Continuous, error) {
	c, err := NewSarathi(maxSequences, tokenBudget)
	if err != nil {
		return nil, err
	}
	c.whole = true
	return c, nil
}

// ChunkedOnly is Sarathi-Serve without hybrid batches. Chunks of prompts are computed in steps of
// their own, and the steps between them decode (Agrawal et al., table 4, "chunked-prefills-only").
type ChunkedOnly struct {
	Continuous
	// turn is true for each lane in which the next step decodes.
	turn []bool
}

// NewChunkedOnly returns the scheduler for at most maxSequences at once and tokenBudget tokens a
// step.
func NewChunkedOnly(maxSequences, tokenBudget int) (*ChunkedOnly, error) {
	c, err := NewSarathi(maxSequences, tokenBudget)
	if err != nil {
		return nil, err
	}
	return &ChunkedOnly{Continuous: *c}, nil
}

// Schedule implements sim.Scheduler.
func (c *ChunkedOnly) Schedule(b *sim.Batch) sim.Decision {
	for len(c.turn) <= b.Lane() {
		c.turn = append(c.turn, false)
	}
	turn := &c.turn[b.Lane()]
	before := c.waiting.len()
	if *turn && b.Decodes() > 0 {
		*turn = false
		c.decode(b)
		return sim.Decision{Steps: 1}
	}
	budget := c.resume(b, c.limits.TokenBudget)
	if c.waiting.len() <= before {
		budget = c.admit(b, budget)
	}
	if budget < c.limits.TokenBudget {
		*turn = true
		return sim.Decision{Steps: 1}
	}
	if !c.decode(b) || c.waiting.len() > before {
		return sim.Decision{Steps: 1}
	}
	return c.stands(b)
}
