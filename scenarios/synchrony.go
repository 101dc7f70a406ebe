package scenarios

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// burstFinder is a sim.Observer that finds requests that arrive together. It stores the arrival and
// the TTFT of the first maxAnswered requests that are answered.
type burstFinder struct {
	sim.NopObserver
	seen []answered
}

// answered is a request whose answer began.
type answered struct{ arrival, ttft sim.Time }

// maxAnswered bounds the memory of a burstFinder.
const maxAnswered = 1 << 12

// Finished implements sim.Observer.
func (o *burstFinder) Finished(s *sim.Sequence) {
	if len(o.seen) < maxAnswered {
		o.seen = append(o.seen, answered{s.Arrival, s.TTFT()})
	}
}

// Ended implements sim.EndObserver.
func (o *burstFinder) Ended(s *sim.Sequence, why sim.Rejection, _ sim.Time) {
	if part, _, cut := metrics.Cut(s, why); cut {
		o.Finished(&part)
	}
}

// minBurst is the least number of requests that are called together.
const minBurst = 8

// burstNotice says that the p95 of the TTFT comes from requests that arrive together, if it does.
// That is so if the median request beyond the p95 came within a p95 of n others, and n is 8 or
// more, at least twice the mean number in such a time, and more than six standard deviations above
// the number that arrivals at random have. It returns "" otherwise. ms is the p95 of the TTFT of
// all answers in milliseconds; where o has seen the first of them only, the notice speaks of these.
// closed reports whether users wait for answers.
func (o *burstFinder) burstNotice(ms float64, closed bool) string {
	if len(o.seen) < minBurst {
		return ""
	}
	byArrival := func(a, b answered) int { return int(min(max(a.arrival-b.arrival, -1), 1)) }
	slices.SortFunc(o.seen, byArrival)
	ttfts := make([]sim.Time, len(o.seen))
	for i := range o.seen {
		ttfts[i] = o.seen[i].ttft
	}
	slices.Sort(ttfts)
	p95 := ttfts[(len(ttfts)-1)*95/100]
	// crowds holds the numbers of requests that arrived in the p95 before each late request.
	var crowds []int
	first := 0
	for i := range o.seen {
		for o.seen[first].arrival < o.seen[i].arrival-p95 {
			first++
		}
		if o.seen[i].ttft >= p95 {
			crowds = append(crowds, i-first+1)
		}
	}
	slices.Sort(crowds)
	crowd := crowds[len(crowds)/2]
	span := o.seen[len(o.seen)-1].arrival - o.seen[0].arrival
	mean := float64(len(o.seen)) * float64(min(p95, span)) / float64(max(span, 1))
	if crowd < minBurst || float64(crowd) < max(2*mean, mean+6*math.Sqrt(mean)) {
		return ""
	}
	whose := ""
	if len(o.seen) == maxAnswered {
		whose, ms = fmt.Sprintf(" of the first %d answers", maxAnswered), p95.Milliseconds()
	}
	words := fmt.Sprintf("the p95 of TTFT%s, %.3g s, comes from %d requests that arrive together, "+
		"where %.3g do on average", whose, ms/1000, crowd, mean)
	if closed {
		words += ": users whose requests are alike march in step; lengths and thinking times " +
			"that vary spread them"
	}
	return words
}

// The mean lengths, in tokens, that predict the cycle of a user where a trace has the requests:
// about the default lengths of a workload.
const (
	usualPrompt = 500
	usualOutput = 250
)

// cycle returns a function that predicts the mean time from a user's request to the next, for users
// who share the replicas of the pools evenly: see workload.Users.Cycle. It ignores cached prompts
// and drafts, so that it is only good for spreading users over a cycle.
func cycle(pools []pool, users int) func(prompt, output float64, pause sim.Time) sim.Time {
	return func(prompt, output float64, pause sim.Time) sim.Time {
		if prompt == 0 {
			prompt, output = usualPrompt, usualOutput
		}
		decoding, replicas := &pools[0], 0
		for i := range pools {
			if p := &pools[i]; p.role != sim.Prefill {
				decoding, replicas = p, replicas+p.size
			}
		}
		share := max(1, float64(users)/float64(max(1, replicas)))
		room := share // sequences that the KV cache holds
		if tokens := float64(decoding.Plan.Tokens); tokens > 0 {
			room = max(1, min(room, math.Floor(tokens/(prompt+output))))
		}
		if most, _ := decoding.Config.Policies.Batching.Limits(); most > 0 {
			room = min(room, float64(most))
		}
		clock, stages := decoding.Clock.Aside(), max(1, decoding.Parallel.Pipeline)
		one := int(math.Ceil(prompt))
		alone := clock.Duration(&sim.Step{Prefill: []sim.Chunk{{New: one, Last: true}}})
		// answer is the time of an answer among others: its steps, and the prompts of the others,
		// which each come in once meanwhile.
		answer := func(batch float64) float64 {
			n := max(1, int(batch)/stages)
			step := clock.Duration(&sim.Step{Decodes: n, DecodeTokens: n,
				Context: int64(float64(n) * (prompt + output/2))})
			return math.Ceil(output)*float64(step)*float64(stages) + math.Ceil(batch)*float64(alone)
		}
		// More sequences take longer, and users who wait longer think for less of their time. So
		// the batch grows from 1 to where both agree.
		batch := 1.0
		for range 20 {
			takes := answer(batch)
			batch = min(room, math.Ceil(share*takes/(takes+float64(pause))))
		}
		// Users for whom there is no room wait for their turn.
		takes := max(answer(batch)+float64(pause), answer(batch)*math.Ceil(share)/room)
		return sim.Time(min(takes, float64(sim.Never/2)))
	}
}
