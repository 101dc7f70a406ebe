package metrics

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// group sums up the requests of a class, of a tenant, or of the whole run.
type group struct {
	name string
	slo  SLO

	ttft, tpot, e2e *Distribution
	// whole has the E2E latencies of all answers that began, for limits; nil without limits of E2E
	whole *Distribution
	// The seconds that requests spent before their first step, in prefill, and in decode.
	queued, prefill, frontEnd, decode float64

	completed, cut, good int64
	// requests that ended without an answer, by reason
	without                   [sim.Rejections]int64
	inputTokens, outputTokens int64
	cachedInput               int64
	held                      KVHeld
	keptTTFT, keptTPOT        int64
	keptE2E, keptAll          int64
}

func newGroup(name string, slo SLO) (*group, error) {
	g := &group{name: name, slo: slo}
	for _, d := range []**Distribution{&g.ttft, &g.tpot, &g.e2e} {
		var err error
		if *d, err = NewDistribution(requestAccuracy); err != nil {
			return nil, err
		}
	}
	if slo.E2E > 0 || slices.ContainsFunc(slo.Percentiles,
		func(l PercentileLimit) bool { return l.Latency == E2E }) {
		g.whole = newDistribution(requestAccuracy)
	}
	return g, nil
}

// add adds a request that finished or was cut, with its E2E latency, which Cut says of what was
// cut, and the verdict on its limits.
func (g *group) add(s *sim.Sequence, e2e sim.Time, v verdict, cut bool) {
	g.ttft.Add(s.TTFT())
	if g.whole != nil {
		g.whole.Add(e2e)
	}
	// an answer that comes at once has no time per token
	if s.Output > 1 && s.LastToken > s.FirstToken && !s.Whole {
		g.tpot.Add(s.TPOT())
	}
	g.queued += (s.Scheduled - s.Arrival).Seconds()
	g.prefill += (s.FirstToken - s.Scheduled).Seconds()
	g.frontEnd += s.Latency.Seconds()
	count(&g.keptTTFT, v.ttft)
	count(&g.keptTPOT, v.tpot)
	count(&g.keptE2E, v.e2e)
	count(&g.keptAll, v.all())
	if cut {
		g.cut++
		return
	}
	g.completed++
	count(&g.good, v.all())
	g.inputTokens += int64(s.Prompt)
	g.outputTokens += int64(s.Output)
	cached, held := s.Cached, (s.LastToken - s.Scheduled).Seconds()
	g.cachedInput += int64(cached)
	g.held.Input += float64(float64(s.Prompt-cached) * held)
	g.held.Cached += float64(float64(cached) * held)
	decode := (s.LastToken - s.FirstToken).Seconds()
	g.held.Output += float64(float64(s.Output) / 2 * decode)
	g.decode += decode
	g.e2e.Add(e2e)
}

// endings counts the requests by how they ended.
func (g *group) endings() Endings {
	e := Endings{Completed: g.completed, TimedOut: g.without[sim.TimedOut], Cut: g.cut,
		Cancelled: g.without[sim.Cancelled], Lost: g.without[sim.Lost]}
	e.Rejected = g.sent() - e.Sent()
	return e
}

// sent returns the number of all requests, however they ended.
func (g *group) sent() int64 {
	sum := g.completed + g.cut
	for _, n := range g.without {
		sum += n
	}
	return sum
}

func count(n *int64, kept bool) {
	if kept {
		*n++
	}
}
