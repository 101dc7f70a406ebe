package routing

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// Choices draws a few replicas and takes the one with the fewest unfinished requests: the power of
// two choices (Mitzenmacher, IEEE TPDS 12(10), 2001).
type Choices struct {
	rng *rand.Rand
	d   int
}

// NewChoices returns the router that draws d replicas, at least 1, with replacement.
func NewChoices(d int, seed uint64) (*Choices, error) {
	if d < 1 {
		return nil, fmt.Errorf("choices is %d, want at least 1", d)
	}
	return &Choices{stream(seed), d}, nil
}

// Route implements sim.Router.
func (c *Choices) Route(_ *sim.Request, pool *sim.Pool) int {
	best := pool.At(c.rng.IntN(pool.Len()))
	for range c.d - 1 {
		if i := pool.At(c.rng.IntN(pool.Len())); pool.Requests(i) < pool.Requests(best) {
			best = i
		}
	}
	return best
}
