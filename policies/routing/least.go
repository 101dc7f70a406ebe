package routing

import "github.com/llmsim/llmsim/sim"

// LeastRequests sends each request to the replica with the fewest unfinished requests (join the
// shortest queue).
type LeastRequests struct{}

// Route implements sim.Router.
func (LeastRequests) Route(_ *sim.Request, pool *sim.Pool) int { return pool.LeastRequests() }

// LeastTokens sends each request to the replica with the fewest prompt tokens of unfinished
// requests.
type LeastTokens struct{}

// Route implements sim.Router.
func (LeastTokens) Route(_ *sim.Request, pool *sim.Pool) int { return pool.LeastTokens() }
