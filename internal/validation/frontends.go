package validation

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// frontends send a request by way of one of several at random, each of which takes the replicas in
// turn, wherever it is in the round: Dynamo's frontends do so unless told otherwise (its router
// guide, --router-mode).
type frontends struct {
	rng  *rand.Rand
	next []int
}

// manyFrontends is how many recipes of InferenceX put behind nginx unless they say otherwise
// (srt-slurm, num_additional_frontends).
const manyFrontends = 10

func newFrontends(n int, seed uint64) *frontends {
	f := &frontends{rand.New(rand.NewPCG(seed, 0)), make([]int, n)}
	for i := range f.next {
		f.next[i] = f.rng.IntN(maxBatch)
	}
	return f
}

// Route implements sim.Router.
func (f *frontends) Route(_ *sim.Request, pool *sim.Pool) int {
	turn := &f.next[f.rng.IntN(len(f.next))]
	*turn++
	return pool.At(*turn % pool.Len())
}
