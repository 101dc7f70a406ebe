package routing

import "github.com/llmsim/llmsim/sim"

// Weighted sends the requests of each pool to its replicas in turn, to each as often as its weight
// says. Every replica earns its weight with each request, and the one that has the most pays for
// all: the smooth weighted round-robin of nginx (src/http/ngx_http_upstream_round_robin.c, 1.3.1),
// in which the requests of a replica are spread out evenly. Of equal replicas the one with the
// lowest index is taken.
type Weighted struct {
	credit []float64 // by the index of the replica; the sum over a pool is 0 after each request
}

// Route implements sim.Router.
func (w *Weighted) Route(_ *sim.Request, pool *sim.Pool) int {
	best, sum := pool.At(0), 0.0
	for k := range pool.Len() {
		i := pool.At(k)
		for len(w.credit) <= i {
			w.credit = append(w.credit, 0)
		}
		w.credit[i] += pool.Weight(i)
		sum += pool.Weight(i)
		if w.credit[i] > w.credit[best] {
			best = i
		}
	}
	w.credit[best] -= sum
	return best
}

// Blind implements sim.BlindRouter.
func (*Weighted) Blind(*sim.Request) bool { return true }
