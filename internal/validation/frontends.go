package validation

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// frontends send a request by way of one of several at random, each of which takes the replicas in turn, wherever it is in the round:
// Dynamo's frontends do so unless told otherwise (its router guide, --router-mode), and recipes of InferenceX put nginx before ten of them
// (srt-slurm, num_additional_frontends).
type frontends struct {
	rng  *rand.Rand
	next [10]int
}

func newFrontends(seed uint64) *frontends {
	f := &frontends{rng: rand.New(rand.NewPCG(seed, 0))}
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
