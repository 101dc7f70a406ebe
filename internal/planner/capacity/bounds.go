package capacity

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
	"github.com/llmsim/llmsim/sim"
)

// probes is the number of requests that are drawn from the workload for the bounds, without
// simulating them.
const probes = 400

// slack is by how much bounds are looser than they claim: the step times that they interpolate are
// not quite convex.
const slack = 1.05

// draw takes requests from a source.
func draw(source sim.Source) []sim.Request {
	var list []sim.Request
	for at := source.NextArrival(); at != sim.Never && len(list) < probes; at = source.NextArrival() {
		var r sim.Request
		source.Next(&r)
		source.Done(&r, at)
		r.Content = nil
		list = append(list, r)
	}
	return list
}

// bound sets the ceiling of the rate, and the floor of latencies.
func (o *option) bound(s *scenarios.Simulation) {
	requests := draw(s.Source)
	load := s.Source.Summary()
	if o.output = load.Output * load.Rate / float64(s.Scenario.Workload.Rate.Value); o.output == 0 { // a trace, whose mean is not known beforehand
		for i := range requests {
			o.output += float64(requests[i].Output) / float64(len(requests))
		}
	}
	o.ceiling = o.highestRate(requests)
	o.latencies(s, requests)
}

// highestRate bounds the requests that a replica can complete a second. A request needs P prompt
// and O output tokens, and a step gives each of at most B sequences one token: so a request takes k
// = O/B steps for itself, of N/k tokens each on average, N = P + O. With steps of n tokens taking
// f(n), f convex, its time is at least k·f(N/k) (Jensen); attention to the context comes on top. B
// is bounded by the batching policy and by the KV memory. Prompts that a cache may supply are left
// out. Steps of prefill and decode replicas are covered too: they are more steps for the same
// tokens, and k·f(N/k) grows with k.
func (o *option) highestRate(requests []sim.Request) float64 {
	var prompt, output, stored, attended float64
	n := float64(len(requests))
	for i := range requests {
		p, out := float64(requests[i].Prompt), float64(requests[i].Output)
		prompt += p / n
		output += out / n
		context := out * (p + out/2) // token-steps in KV memory
		stored += context
		attended += context / n
	}
	if o.mayReuse() {
		prompt = 0
	}
	batch := float64(o.steps.Memory.Tokens) / (stored / (output * n))
	if most := count(o.steps.Scenario.Batching.Params["max-sequences"]); most > 0 {
		batch = min(batch, float64(most))
	}
	k := output / max(1, batch)
	tokens := prompt + output
	seconds := k*o.stepTime(tokens/k) + attended*o.attention()
	if seconds <= 0 {
		return math.Inf(1)
	}
	return slack * float64(o.split.replicas()) / seconds
}

// mayReuse reports whether prompt tokens may come from a cache.
func (o *option) mayReuse() bool {
	w := &o.scenario.Workload
	shared := w.Prefix != nil || w.Distinct > 0 || w.Sessions != nil || w.Trace != nil
	for i := range w.Classes {
		c := &w.Classes[i]
		shared = shared || c.Prefix != nil || c.Distinct > 0 || c.Sessions != nil
	}
	return shared
}

// stepTime bounds the seconds of a step of n tokens, attention left out, from below: the lower
// convex hull through steps of 1, 2, 4, … tokens.
func (o *option) stepTime(n float64) float64 {
	type point struct{ tokens, seconds float64 }
	var hull []point
	for t := 1; ; t *= 2 {
		next := point{float64(t), o.linearTime(t)}
		for len(hull) >= 2 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if (b.seconds-a.seconds)*(next.tokens-a.tokens) < (next.seconds-a.seconds)*(b.tokens-a.tokens) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, next)
		if t >= 1<<15 {
			break
		}
	}
	for i := 1; i < len(hull); i++ {
		if a, b := hull[i-1], hull[i]; n <= b.tokens || i == len(hull)-1 {
			return max(a.seconds+(b.seconds-a.seconds)*(max(n, 1)-a.tokens)/(b.tokens-a.tokens), 0)
		}
	}
	return hull[0].seconds
}

// linearTime is the time of a step of n tokens without attention: the shorter of n sequences that
// decode, and a chunk of a prompt.
func (o *option) linearTime(n int) float64 {
	decode := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n)}
	prefill := sim.Step{Prefill: []sim.Chunk{{New: n}}}
	return min(o.withoutAttention(&decode), o.withoutAttention(&prefill))
}

func (o *option) withoutAttention(s *sim.Step) float64 {
	t := o.steps.Clock.Duration(s)
	for _, op := range o.steps.Clock.Breakdown(s) {
		if strings.HasPrefix(op.Name, "attention") {
			t -= op.Time
		}
	}
	return t.Seconds()
}

// attention bounds the seconds of attending to one token of context from below.
func (o *option) attention() float64 {
	least := sim.Never
	for n := 1; n <= 256; n *= 4 {
		least = min(least, o.steps.Clock.Decode(n, int64(n)*1024).PerToken)
	}
	return least.Seconds()
}

// latencies reports whether enough requests could keep their limits if each had a replica to itself.
func (o *option) latencies(s *scenarios.Simulation, requests []sim.Request) {
	kept, slowestTTFT, slowestTPOT := 0, sim.Time(0), sim.Time(0)
	o.excess = 0
	target := 0.0
	for i := range requests {
		r := &requests[i]
		promise := s.SLO(r.Class)
		target = max(target, least(promise))
		ttft, tpot := o.alonePrefill(r), sim.Time(0)
		if r.Output > 1 {
			tpot = o.steps.Clock.Decode(1, int64(r.Prompt)+1).At(int64(r.Prompt) + 1)
		}
		times := max(ratio(ttft, promise.TTFT), ratio(tpot, promise.TPOT), ratio(ttft+tpot*sim.Time(r.Output-1), promise.E2E))
		if times <= 1 {
			kept++
		}
		o.excess += times / float64(len(requests))
		slowestTTFT, slowestTPOT = max(slowestTTFT, ttft), max(slowestTPOT, tpot)
	}
	n := float64(len(requests))
	o.alone = float64(kept) / n
	if o.alone+3*math.Sqrt(o.alone*(1-o.alone)/n) < target-1e-9 {
		o.floor = fmt.Sprintf("even a request that has the replica to itself takes up to %s to the first token and %s a token: %s of them could meet the SLO",
			units.FormatDuration(slowestTTFT.Seconds()), units.FormatDuration(slowestTPOT.Seconds()), report.Percent(o.alone))
	}
}

// least returns the share of requests that must keep all limits of a request for an SLO to be kept:
// where each latency has percentiles of its own, at most the sum of what each lets miss may miss any.
func least(s metrics.SLO) float64 {
	if s.Share > 0 {
		return s.Share
	}
	missing := map[metrics.Latency]float64{}
	for _, l := range s.Percentiles {
		missing[l.Latency] = 1 - l.Percentile/100 // the highest comes last
	}
	return 1 - missing[metrics.TTFT] - missing[metrics.TPOT] - missing[metrics.E2E]
}

// ratio is how many times its limit something takes, 0 where there is no limit.
func ratio(t, limit sim.Time) float64 {
	if limit == 0 {
		return 0
	}
	return float64(t) / float64(limit)
}

// alonePrefill is the least time in which a prompt can be computed.
func (o *option) alonePrefill(r *sim.Request) sim.Time {
	if o.mayReuse() {
		return 0
	}
	budget := count(o.steps.Scenario.Batching.Params["token-budget"])
	if budget == 0 {
		budget = r.Prompt
	}
	var t sim.Time
	for done := 0; done < r.Prompt; {
		n := min(budget, r.Prompt-done)
		t += o.steps.Clock.Duration(&sim.Step{Prefill: []sim.Chunk{{New: n, Cached: done, Last: done+n == r.Prompt}}})
		done += n
	}
	return t
}

func count(text string) int {
	n := 0
	if _, err := fmt.Sscan(text, &n); err != nil {
		return 0
	}
	return n
}

// reason says without file and line what is wrong with a scenario.
func reason(err error) string {
	var list strict.Problems
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Message
	}
	return err.Error()
}
