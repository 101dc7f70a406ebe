package routing

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// SLOAware meets the SLO of a time to first token: of the replica with the fewest unfinished
// requests and the one that will have computed its prompts first, it takes the former as long as
// that is predicted to meet the SLO. In a fleet of unequal replicas the slow ones so serve what can
// wait (compare Mooncake, FAST 2025, algorithm 1).
type SLOAware struct{ ttft sim.Time }

// NewSLOAware returns the router for an SLO of all requests, or, where ttft is 0, for the SLO of
// each request.
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

// Admit implements sim.Admission: requests that are predicted to miss the SLO wherever they go are
// refused at once, before they take anything from requests that can be served in time (Mooncake's
// early rejection).
func (s SLOAware) Admit(r *sim.Request, pool *sim.Pool) bool {
	return pool.Len() == 0 || pool.Wait(pool.LeastWait(), r.Prompt) <= s.limit(r)
}
