package validation

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// listed returns a source of requests.
func listed(requests []sim.Request) sim.Source {
	list := sim.List(requests)
	return &list
}

// byArrival orders requests.
func byArrival(a, b sim.Request) int { return cmp.Compare(a.Arrival, b.Arrival) }

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

// within returns the requests of a source, at random times of a span in seconds: a generator sends
// the number that its rate gives.
func within(span float64, source sim.Source) sim.Source {
	var requests []sim.Request
	for source.NextArrival() != sim.Never {
		var r sim.Request
		source.Next(&r)
		requests = append(requests, r)
	}
	for i, at := range spread(len(requests), span, rand.New(rand.NewPCG(0, 0))) {
		requests[i].Arrival = sim.Seconds(at)
	}
	return listed(requests)
}

// varied returns n requests at random times of a span in seconds, or all at once, with lengths that
// vary around their means as the lengths of real questions and answers do.
func (r *row) varied(n int, span float64, prompt, output int) *sending {
	rng := rand.New(rand.NewPCG(0, 0))
	law := sent(int64(n), natural(prompt), natural(output))
	law.Arrivals.Process = "at-once"
	around := func(l scenarios.Length) *lengths.Distribution {
		d, err := lengths.LogNormal(l.Mean, l.CV, 1, l.Max)
		r.fail(err)
		return d
	}
	prompts, outputs := around(law.Prompt), around(law.Output)
	if r.err != nil {
		return nil
	}
	times := make([]float64, n)
	if span > 0 {
		times = spread(n, span, rng)
		law.Arrivals.Process, law.Rate.Value = "poisson", scenarios.PerSecond(float64(n)/span)
	}
	requests := make([]sim.Request, n)
	for i, at := range times {
		requests[i] = sim.Request{Arrival: sim.Seconds(at), Prompt: prompts.At(rng.Uint64()),
			Output: outputs.At(rng.Uint64())}
	}
	return &sending{requests: requests, counts: arrivedIn(0, sim.Never), law: &law}
}

// natural is the law of lengths with a mean in data sets of questions and answers.
func natural(mean int) scenarios.Length {
	return scenarios.Length{Distribution: "lognormal", Mean: float64(mean), CV: realSpread,
		Max: longestReal * mean}
}

// realSpread is the coefficient of variation of lengths in data sets of questions and answers.
const realSpread = 0.7

// longestReal is the longest of them in units of the mean: 1,024 tokens for MLPerf's Llama-2-70B,
// with a mean of 294.
const longestReal = 4
