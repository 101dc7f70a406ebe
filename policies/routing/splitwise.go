package routing

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Splitwise is the cluster scheduler of Splitwise (Patel et al., ISCA 2024, section 4.2), as a
// router and for hand-overs. The length of a queue is its number of prompt tokens that are not
// computed; for hand-overs, it is the prompt tokens of unfinished requests. A request goes to the
// shortest queue in the pool of its phase. If that queue is longer than a limit, the request goes
// to the mixed pool, and if that is too long as well, to the pool of the other phase, whose
// replicas then batch both phases. If all queues are longer than the limit, the request goes to the
// shortest one.
type Splitwise struct{ limit int64 }

// NewSplitwise returns the router for a limit in tokens, at least 1.
func NewSplitwise(limit int64) (Splitwise, error) {
	if limit < 1 {
		return Splitwise{}, fmt.Errorf("limit is %d tokens, want at least 1", limit)
	}
	return Splitwise{limit}, nil
}

// Route implements sim.Router. Prompts never go back from decode to prefill replicas, which could
// not go on with them.
func (s Splitwise) Route(_ *sim.Request, pool *sim.Pool) int {
	queue, shortest := pool.Pending, (*sim.Pool).LeastPending
	if pool.Sibling(sim.Decode) == pool { // a hand-over, after the prompt
		queue, shortest = pool.Tokens, (*sim.Pool).LeastTokens
	}
	best := shortest(pool)
	if queue(best) <= s.limit {
		return best
	}
	for _, role := range []sim.Role{sim.Mixed, sim.Decode} {
		other := pool.Sibling(role)
		if other == nil || other == pool || other.Len() == 0 {
			continue
		}
		i := shortest(other)
		if queue(i) <= s.limit {
			return i
		}
		if queue(i) < queue(best) {
			best = i
		}
	}
	return best
}
