package routing

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// Random sends each request to a replica drawn evenly.
type Random struct{ rng *rand.Rand }

// NewRandom returns the router whose choices the seed determines.
func NewRandom(seed uint64) *Random { return &Random{stream(seed)} }

// Route implements sim.Router.
func (r *Random) Route(_ *sim.Request, pool *sim.Pool) int {
	return pool.At(r.rng.IntN(pool.Len()))
}

// Blind implements sim.BlindRouter.
func (*Random) Blind(*sim.Request) bool { return true }

// stream returns the random numbers of a router.
func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x726f757465)) }
