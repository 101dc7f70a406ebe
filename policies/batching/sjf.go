package batching

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// Prediction says how well a scheduler knows the length of an answer beforehand. The errors of its
// predictions are lognormal.
type Prediction struct {
	// Sigma is the standard deviation of the logarithm of predicted over true length; 0 means that
	// the length is known.
	Sigma float64
	// Seed selects the errors. The error of a request depends on the seed and the request only.
	Seed uint64
}

// lengths returns a function that predicts the output tokens of a request.
func (p Prediction) lengths() (func(r *sim.Request) float64, error) {
	if !(p.Sigma >= 0) || math.IsInf(p.Sigma, 0) {
		return nil, fmt.Errorf("prediction-error is %g, want 0 (lengths are known) or more",
			p.Sigma)
	}
	if p.Sigma == 0 {
		return func(r *sim.Request) float64 { return float64(r.Output) }, nil
	}
	source := rand.NewPCG(0, 0)
	rng := rand.New(source)
	return func(r *sim.Request) float64 {
		source.Seed(p.Seed, uint64(r.ID))
		return float64(r.Output) * math.Exp(p.Sigma*rng.NormFloat64())
	}, nil
}

// NewSJF returns the scheduler of vLLM V1 with the shortest job first: the request with the fewest
// output tokens to come, known or predicted (Fu et al., Efficient LLM Scheduling by Learning to
// Rank, NeurIPS 2024). Running requests are not displaced.
func NewSJF(limits Limits, prediction Prediction) (sim.Scheduler, error) {
	lengths, err := prediction.lengths()
	if err != nil {
		return nil, err
	}
	return newRanked(limits, ranked{rank: lengths}, false, false)
}

// NewSRTF returns the scheduler of vLLM V1 with the shortest remaining time first (Schrage,
// Operations Research 1968). A waiting request takes the place of the running one with the most
// output tokens to come, if it has fewer itself. If swap is true, displaced sequences move to host
// memory; otherwise they are computed again.
func NewSRTF(limits Limits, prediction Prediction, swap bool) (sim.Scheduler, error) {
	lengths, err := prediction.lengths()
	if err != nil {
		return nil, err
	}
	return newRanked(limits, ranked{rank: lengths, consumed: true}, true, swap)
}
