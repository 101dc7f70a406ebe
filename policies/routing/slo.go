package routing

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// SLOAware routes by the SLO's limit of the time to first token. It takes the replica with the
// fewest unfinished requests, if that replica is predicted to keep the limit. Otherwise it takes
// the replica that is predicted to compute its prompts first. So in a fleet of unequal replicas,
// slow replicas serve requests that can wait (compare Mooncake, FAST 2025, algorithm 1).
type SLOAware struct{ ttft sim.Time }

// NewSLOAware returns the router for the limit ttft of all requests, or, if ttft is 0, for the SLO
// of each request.
func NewSLOAware(ttft sim.Time) (SLOAware, error) {
	if ttft < 0 {
		return SLOAware{}, fmt.Errorf("ttft is %v, want 0 or more", ttft)
	}
	return SLOAware{ttft}, nil
}

// limit returns the time to first token within which r should be served.
func (s SLOAware) limit(r *sim.Request) sim.Time {
	switch {
	case s.ttft > 0:
		return s.ttft
	case r.TTFT > 0:
		return r.TTFT
	}
	return sim.Never
}

// Route implements sim.Router.
func (s SLOAware) Route(r *sim.Request, pool *sim.Pool) int {
	if i := pool.LeastRequests(); pool.Wait(i, r.Prompt) <= s.limit(r) {
		return i
	}
	return pool.LeastWait()
}

// Admit implements sim.Admission. It refuses a request at once if the request is predicted to miss
// the SLO on every replica. So the request takes nothing from requests that can be served in time
// (Mooncake's early rejection).
func (s SLOAware) Admit(r *sim.Request, pool *sim.Pool) bool {
	return pool.Len() == 0 || pool.Wait(pool.LeastWait(), r.Prompt) <= s.limit(r)
}
