package batching

import "fmt"

// Limits bound the work of a replica in one step.
type Limits struct {
	// MaxSequences is the largest number of sequences in a batch.
	MaxSequences int
	// TokenBudget is the largest number of tokens in a step, including one for each decoding
	// sequence. It is at least MaxSequences.
	TokenBudget int
	// ChunkLimit is the largest number of prompt tokens of one request in a step; 0 means no limit
	// except the budget.
	ChunkLimit int
}

// resolve checks the limits, and returns them with values for the ones that are not given.
func (l Limits) resolve() (Limits, error) {
	switch {
	case l.MaxSequences < 1:
		return l, fmt.Errorf("max-sequences is %d, want at least 1", l.MaxSequences)
	case l.TokenBudget < l.MaxSequences:
		return l, fmt.Errorf("token-budget is %d, want at least max-sequences (%d), since each "+
			"may decode a token a step", l.TokenBudget, l.MaxSequences)
	case l.ChunkLimit < 0:
		return l, fmt.Errorf("chunk-limit is %d, want 0 (none) or more", l.ChunkLimit)
	case l.ChunkLimit > l.TokenBudget:
		return l, fmt.Errorf("chunk-limit is %d, more than a step may have: want at most "+
			"token-budget (%d), or 0 for no limit", l.ChunkLimit, l.TokenBudget)
	}
	if l.ChunkLimit == 0 {
		l.ChunkLimit = l.TokenBudget
	}
	return l, nil
}
