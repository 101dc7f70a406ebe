package validation

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/lengths"
)

// listed returns a source of requests.
func listed(requests []sim.Request) sim.Source {
	list := sim.List(requests)
	return &list
}

// byArrival orders requests.
func byArrival(a, b sim.Request) int { return cmp.Compare(a.Arrival, b.Arrival) }

// atOnce returns n requests of one length that arrive together.
func atOnce(n, prompt, output int) sim.Source {
	requests := make([]sim.Request, n)
	for i := range requests {
		requests[i] = sim.Request{Prompt: prompt, Output: output}
	}
	return listed(requests)
}

// spread returns n times in [0, span): independent and uniform, as a Poisson process has them given
// their number. Load generators that promise a constant rate draw exponential gaps and scale them
// to the span, which is the same.
func spread(n int, span float64, rng *rand.Rand) []float64 {
	times := make([]float64, n)
	for i := range times {
		times[i] = rng.Float64() * span
	}
	slices.Sort(times)
	return times
}

// offlineLoad returns n requests that are queued at once, with lengths that vary around their means
// as the lengths of real questions and answers do.
func offlineLoad(n, prompt, output int) (sim.Source, error) {
	rng := rand.New(rand.NewPCG(0, 0))
	draw := func(mean int) (func() int, error) {
		d, err := lengths.LogNormal(float64(mean), realSpread, 1, longestReal*mean)
		if err != nil {
			return nil, err
		}
		return func() int { return d.At(rng.Uint64()) }, nil
	}
	prompts, err := draw(prompt)
	if err != nil {
		return nil, err
	}
	outputs, err := draw(output)
	if err != nil {
		return nil, err
	}
	requests := make([]sim.Request, n)
	for i := range requests {
		requests[i] = sim.Request{Prompt: prompts(), Output: outputs()}
	}
	return listed(requests), nil
}

// realSpread is the coefficient of variation of lengths in data sets of questions and answers.
const realSpread = 0.7

// longestReal is the longest of them in units of the mean: 1,024 tokens for MLPerf's Llama-2-70B,
// with a mean of 294.
const longestReal = 4

// closedLoop returns clients that each send their next request when the last is answered, with
// lengths uniform in [least·length, length].
func closedLoop(clients int, requests int64, prompt, output int, least float64) (sim.Source,
	error) {
	prompts, err := lengths.Uniform(max(1, int(least*float64(prompt))), prompt)
	if err != nil {
		return nil, err
	}
	outputs, err := lengths.Uniform(max(1, int(least*float64(output))), output)
	if err != nil {
		return nil, err
	}
	return workload.Open(workload.Config{
		Classes:  []workload.Class{{Weight: 1, Prompt: prompts, Output: outputs}},
		Users:    &workload.Users{Count: clients},
		Requests: requests,
	})
}

// frontends send a request by way of one of several at random; each takes the replicas in turn,
// wherever it is in the round: Dynamo's frontends do so unless told otherwise (its router guide,
// --router-mode).
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
