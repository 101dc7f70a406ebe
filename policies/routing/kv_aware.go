package routing

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// KVAware sends each request to the replica with the lowest share of KV memory in use, as the
// replicas last reported it. Each waiting request adds as much to the share as a full memory.
// Between two reports, all requests would go to the same replica (Mitzenmacher, How Useful Is Old
// Information?, IEEE TPDS 11(1), 2000). A choice between a few replicas drawn at random avoids
// that.
type KVAware struct {
	period  sim.Time   // between two reports, at least 0; 0 asks for each request
	choices int        // replicas drawn for a request; 0 compares all
	rng     *rand.Rand // for choices

	// Only report and Route change these.
	due    sim.Time  // when the next report comes
	loads  []float64 // by replica, as reported last: full memories; 0 before the first report
	lowest int       // the replica with the least load that took requests at the last report
}

// NewKVAware returns the router. Replicas report once a period; 0 means that reports are always
// fresh. The router chooses between that number of replicas drawn at random, or among all replicas
// if choices is 0.
func NewKVAware(period sim.Time, choices int, seed uint64) (*KVAware, error) {
	if period < 0 || choices < 0 {
		return nil, fmt.Errorf("period is %v and choices %d, want 0 or more", period, choices)
	}
	return &KVAware{period: period, choices: choices, rng: stream(seed)}, nil
}

// Route implements sim.Router.
func (k *KVAware) Route(_ *sim.Request, pool *sim.Pool) int {
	if now := pool.Now(); now >= k.due || !pool.Accepts(k.lowest) {
		k.report(pool)
		k.due = now + k.period
	}
	if k.choices == 0 {
		return k.lowest
	}
	best := pool.At(k.rng.IntN(pool.Len()))
	for range k.choices - 1 {
		if i := pool.At(k.rng.IntN(pool.Len())); k.load(i) < k.load(best) {
			best = i
		}
	}
	return best
}

// report asks every replica, once a period.
func (k *KVAware) report(pool *sim.Pool) {
	k.lowest = pool.At(0)
	for n := range pool.Len() {
		i := pool.At(n)
		for len(k.loads) <= i {
			k.loads = append(k.loads, 0)
		}
		s := pool.State(i)
		k.loads[i] = float64(s.Used)/float64(s.Capacity) + float64(s.Waiting)
		if k.loads[i] < k.loads[k.lowest] {
			k.lowest = i
		}
	}
}

// load returns what replica i reported last; 0 if it did not run then.
func (k *KVAware) load(i int) float64 {
	if i >= len(k.loads) {
		return 0
	}
	return k.loads[i]
}
