package batching

import "fmt"

// Limits bound what a replica does at once.
type Limits struct {
	// MaxSequences is the most sequences in a batch.
	MaxSequences int
	// TokenBudget is the most tokens in a step, the decoding sequences counted; at least
	// MaxSequences.
	TokenBudget int
	// ChunkLimit is the most prompt tokens of one request in a step; 0 means no limit but the
	// budget.
	ChunkLimit int
}

// resolve checks the limits, and gives limits that are left open their value.
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
