package routing

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Splitwise is the cluster scheduler of Splitwise (Patel et al., ISCA 2024, section 4.2): the shortest queue, by prompt tokens, in
// the pool of the phase; if that is longer than a limit, in the mixed pool; if that is too, in the pool of the other phase, whose
// replicas then batch both; if all are longer, the shortest. It is meant as router and for hand-overs.
type Splitwise struct{ limit int64 }

// NewSplitwise returns the router for a limit in tokens, at least 1.
func NewSplitwise(limit int64) (Splitwise, error) {
	if limit < 1 {
		return Splitwise{}, fmt.Errorf("limit is %d tokens, want at least 1", limit)
	}
	return Splitwise{limit}, nil
}

// Route implements sim.Router. Prompts never go back from decode to prefill replicas, which could not go on with them.
func (s Splitwise) Route(_ *sim.Request, pool *sim.Pool) int {
	best := pool.LeastTokens()
	if pool.Tokens(best) <= s.limit {
		return best
	}
	for _, role := range []sim.Role{sim.Mixed, sim.Decode} {
		other := pool.Sibling(role)
		if other == nil || other == pool || other.Len() == 0 {
			continue
		}
		i := other.LeastTokens()
		if pool.Tokens(i) <= s.limit {
			return i
		}
		if pool.Tokens(i) < pool.Tokens(best) {
			best = i
		}
	}
	return best
}
