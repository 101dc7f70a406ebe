package routing

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// PrefixAware sends a request to the replica that last served the longest beginning of its prompt.
// If that beginning is a small part of the prompt, or the replica has too many requests, the
// request goes to the replica with the fewest unfinished requests. SGLang's cache-aware router does
// the same, with a tree in place of the list of beginnings (sgl-router/src/policies/cache_aware.rs,
// v0.4). The router knows which replica it sent a beginning to, but not whether the replica still
// keeps it.
type PrefixAware struct {
	share float64 // the least share of the prompt that counts, in [0, 1]
	slack int     // unfinished requests more than the fewest of a replica, at least 0
	// names has the beginnings in places, each once: names[places[x].slot] = x, and their number is
	// at most capacity. When it is full, it is a ring: oldest is the place of the beginning that
	// was noted first.
	places   map[uint64]place
	names    []uint64
	oldest   int
	capacity int // at least 1
}

// place is where a beginning was last served.
type place struct {
	replica int
	slot    int // in PrefixAware.names
}

// NewPrefixAware returns the router. It remembers the given number of beginnings, at least 1; each
// segment of a prompt ends a beginning. It prefers a replica for a beginning of at least that share
// of the prompt, in [0, 1]. The replica may have at most slack unfinished requests more than the
// replica with the fewest.
func NewPrefixAware(capacity int, share float64, slack int) (*PrefixAware, error) {
	if capacity < 1 {
		return nil, fmt.Errorf("beginnings is %d, want at least 1", capacity)
	}
	if !(share >= 0 && share <= 1) {
		return nil, fmt.Errorf("share is %g of the prompt, want 0 to 1", share)
	}
	if slack < 0 {
		return nil, fmt.Errorf("slack is %d, want 0 or more", slack)
	}
	return &PrefixAware{share: share, slack: slack, capacity: capacity, places: map[uint64]place{}},
		nil
}

// Route implements sim.Router.
func (p *PrefixAware) Route(r *sim.Request, pool *sim.Pool) int {
	least := pool.LeastRequests()
	best := p.longest(r, pool)
	if best < 0 || pool.Requests(best) > pool.Requests(least)+p.slack {
		best = least
	}
	name := uint64(0)
	for _, segment := range r.Content {
		name = after(name, segment)
		p.recordPlace(name, best)
	}
	if r.Answer != 0 {
		p.recordPlace(after(name, sim.Segment{ID: r.Answer, Tokens: r.Output}), best)
	}
	return best
}

// longest returns the replica that last served the longest known beginning, or -1 if no beginning
// is long enough.
func (p *PrefixAware) longest(r *sim.Request, pool *sim.Pool) int {
	best, name, tokens := -1, uint64(0), 0
	for _, segment := range r.Content {
		name = after(name, segment)
		tokens += segment.Tokens
		at, known := p.places[name]
		if !known {
			break
		}
		if pool.Accepts(at.replica) && float64(tokens) >= p.share*float64(r.Prompt) {
			best = at.replica
		}
	}
	return best
}

// after names the beginning that ends with a segment, from the name of the one before it.
func after(name uint64, s sim.Segment) uint64 {
	return content.Hash(name ^ content.Hash(s.ID^content.Hash(uint64(s.Tokens))))
}

// recordPlace remembers where a beginning is served. If there are too many, it forgets the
// beginning that was recorded first.
func (p *PrefixAware) recordPlace(name uint64, replica int) {
	if at, known := p.places[name]; known {
		p.places[name] = place{replica, at.slot}
		return
	}
	if len(p.names) < p.capacity {
		p.places[name] = place{replica, len(p.names)}
		p.names = append(p.names, name)
		return
	}
	delete(p.places, p.names[p.oldest])
	p.names[p.oldest] = name
	p.places[name] = place{replica, p.oldest}
	p.oldest = (p.oldest + 1) % p.capacity
}
