package scenarios

import (
	"cmp"
	"fmt"

	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// scaledPool is a pool whose replicas a policy starts and stops.
type scaledPool struct {
	pool   int
	policy deployment.Choice[sim.Scaler]
	every  sim.Time
	cold   sim.Time // what starting a replica takes
	// first is the number of replicas that run at the start. least is the number of replicas that
	// always run, including those of steady, which are the pools that serve the same requests and
	// are not scaled.
	first, least int
	steady       []int
}

func scalingField(pool int) string { return fmt.Sprintf("fleet.pools.%d.scaling", pool) }

// scaled reports whether the scenario has the replicas of a pool start and stop.
func (f *fleet) scaled(pool int) bool { return f.file.given(scalingField(pool)) }

// scale sets up the scaling of a pool, and fills the defaults into w. It returns false, and notes
// the problem, if the scaling is wrong.
func (f *fleet) scale(top *server, pool int, w *Scaling) (scaledPool, bool) {
	g, field := &f.pools[pool], scalingField(pool)
	w.Min = cmp.Or(w.Min, 1)
	w.Every = cmp.Or(w.Every, Span(15*sim.Second))
	if w.Min > g.size {
		f.problem(field+".min", "found %d; the pool has %d replicas", w.Min, g.size)
		return scaledPool{}, false
	}
	made := scaledPool{pool: pool, every: sim.Time(w.Every), first: w.Min, least: w.Min}
	for k := range f.pools {
		other := &f.pools[k]
		switch {
		case k == pool || other.model != g.model || other.role != g.role:
		case f.scaled(k):
			if k < pool {
				f.problem(field,
					"pool %s serves the same requests as pool %s, and replicas of both start "+
						"and stop; "+
						"leave scaling out of one of them", g.name, other.name)
			}
			return scaledPool{}, false
		default:
			made.least += other.size
			made.steady = append(made.steady, k)
		}
	}
	made.cold = g.coldStart(field+".cold-start", &w.ColdStart)
	made.policy = choose(top, g.Anywhere(), field, &top.registry.Scaling, &w.Policy,
		&w.Params)
	return made, true
}
