package routing

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// SessionAffinity sends all requests of a conversation to the same replica, where its KV cache may
// still be. Requests without a conversation go to the replica with the fewest unfinished requests.
// When a replica is added at the end, as few conversations as possible move (jump consistent hash:
// Lamping and Veach, arXiv:1406.2294).
type SessionAffinity struct{}

// Route implements sim.Router.
func (SessionAffinity) Route(r *sim.Request, pool *sim.Pool) int {
	if r.Session == 0 {
		return pool.LeastRequests()
	}
	return pool.At(jump(content.Hash(uint64(r.Session)), pool.Len()))
}

// Blind implements sim.BlindRouter.
func (SessionAffinity) Blind(r *sim.Request) bool { return r.Session != 0 }

// AdapterAffinity sends all requests for an adapter to the same replica, which may still have it,
// as SessionAffinity does with conversations. Requests without an adapter go to the replica with
// the fewest unfinished requests.
type AdapterAffinity struct{}

// Route implements sim.Router.
func (AdapterAffinity) Route(r *sim.Request, pool *sim.Pool) int {
	if r.Adapter == 0 {
		return pool.LeastRequests()
	}
	return pool.At(jump(content.Hash(uint64(r.Adapter)), pool.Len()))
}

// Blind implements sim.BlindRouter.
func (AdapterAffinity) Blind(r *sim.Request) bool { return r.Adapter != 0 }

// jump maps a key to one of n buckets (the function of figure 1 of the paper).
func jump(key uint64, n int) int {
	bucket, next := int64(-1), int64(0)
	for next < int64(n) {
		bucket = next
		key = key*2862933555777941757 + 1
		next = int64(float64(bucket+1) * (float64(1<<31) / float64(key>>33+1)))
	}
	return int(bucket)
}
