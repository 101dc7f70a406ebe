package capacity

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// bound sets the price of an option and the bounds of its rate, given for how long its parts are
// busy.
func (o *option) bound(all []busy) {
	if o.unfit() != "" {
		return
	}
	o.price = o.sum((*server).hourly)
	load := o.load()
	o.ceiling = boundSlack * load.Requests / (o.slow * o.divided(all[0]))
	o.least = 1
	for i := range load.Stretches {
		n := math.Ceil(o.slow * o.divided(all[1+i]) / (boundSlack * load.Stretches[i].Seconds))
		o.least = max(o.least, int32(min(n, unbounded)))
	}
	o.boundMean(load)
}

// busy bounds the seconds for which one replica of each kind is busy at the predicted pace; last is
// 0 if one kind does both.
type busy struct{ first, last float64 }

// divided bounds the seconds for which a replica, or a group, is busy, given one of each kind.
func (o *option) divided(b busy) float64 {
	if o.decode == nil {
		return b.first
	}
	return max(b.first/float64(o.prefills), b.last/float64(o.decodes))
}

// bound sets what follows for all options of the same parts, and returns how long these are busy:
// with the whole load, and then with each of its stretches.
func (p *parts) bound(plan *menu.Plan) []busy {
	if p.unfit() != "" {
		return nil
	}
	p.judge(plan)
	if p.unfit() != "" {
		return nil
	}
	load := p.load()
	p.latencies(load)
	list := []busy{p.busy(&load.Low, &load.Kept, load.Tpot)}
	for i := range load.Stretches {
		list = append(list, p.busyAtBest(&load.Stretches[i].Work, load.Tpot))
	}
	return list
}

// judge sets how wrong the predicted step times may be.
func (p *parts) judge(plan *menu.Plan) {
	weakest := *p.prefill.evidence
	if p.decode != nil {
		weakest = evidence.Weakest([]evidence.Evidence{p.prefill.evidence.Apart(),
			p.decode.evidence.Apart()})
	}
	p.grade, p.physics = weakest.Grade, physicsOf(weakest.Spread)
	worst := p.physics.worst(plan.Effort.Confidence)
	p.slow, p.late = worst.steps, worst.first
	switch missing := unmeasured(plan, &weakest); {
	case !trusted(plan.Trust, p.grade):
		p.whyUntrusted = fmt.Sprintf("its predictions rest on %s, and the plan trusts %s", p.grade,
			plan.Trust)
	case missing != "" && !trusted(plan.Trust, evidence.Relative):
		p.whyUntrusted = fmt.Sprintf("its %s was not measured, which the SLO limits, and the plan "+
			"trusts %s", missing, plan.Trust)
	}
}

// load returns the load that the parts face: contexts are limited to what each of its servers
// serves.
func (p *parts) load() *asked.Load {
	if d := p.decode; d != nil &&
		d.context < p.prefill.context {
		return d.load
	}
	return p.prefill.load
}

// busy bounds the seconds for which one replica of each kind is busy with the work w. The part kept
// is of requests that keep a limit on the time per token; a limit of 0 stands for none.
func (p *parts) busy(w, kept *asked.Work, limit sim.Time) busy {
	b := busy{first: p.prefill.pace.both(w)}
	slowest, last := &b.first, &p.prefill.pace
	if p.decode != nil {
		b = busy{p.prefill.pace.prefill(w), p.decode.pace.decode(w)}
		slowest, last = &b.last, &p.decode.pace
	}
	if limit > 0 {
		*slowest = max(*slowest, last.paced(w, kept, limit.Seconds()/p.slow))
	}
	return b
}

// busyAtBest is busy for a part of the requests, which may be the requests with the best accepted
// drafts.
func (p *parts) busyAtBest(w *asked.Work, limit sim.Time) busy {
	best := *p
	for _, s := range []**server{&best.prefill, &best.decode} {
		if *s != nil {
			lucky := **s
			lucky.pace.mean = lucky.pace.stride
			*s = &lucky
		}
	}
	return best.busy(w, w, limit)
}

// latencies computes the share of requests that could keep their limits if each had a replica to
// itself.
func (p *parts) latencies(l *asked.Load) {
	p.alone, p.excess, p.tight = 1, 0, false
	last := p.servers()[len(p.servers())-1]
	if p.prefill.load != l || last.load != l {
		return // servers of different contexts: nothing is claimed
	}
	kept, n := 0.0, float64(len(l.Probes))
	for i := range l.Probes {
		times := p.times(l.Promises[i], p.prefill.alone[i].ttft, last.alone[i].tpot,
			l.Probes[i].Output)
		if times <= 1 {
			kept += last.inTime(i, l.Promises[i].TPOT, p.slow)
		}
		p.excess += times / n
	}
	p.alone = kept / n
	p.tight = p.alone+float64(3*math.Sqrt(p.alone*(1-p.alone)/n)) < l.Target-1e-9
	if last.drafts != nil {
		p.alone = math.Round(1e4*p.alone) / 1e4 // a chance of 1e-19 is none
	}
}

// times returns the latency of a request with a replica to itself, as a multiple of its limit.
func (p *parts) times(slo metrics.SLO, ttft, tpot sim.Time, output int) float64 {
	ttft = sim.Time(p.late * float64(ttft))
	times := max(ratio(ttft, slo.TTFT), ratio(tpot, slo.TPOT),
		ratio(ttft+tpot*sim.Time(output-1), slo.E2E))
	return times * p.slow
}

// ratio returns a latency as a multiple of its limit; 0 if there is no limit.
func ratio(t, limit sim.Time) float64 {
	if limit == 0 {
		return 0
	}
	return float64(t) / float64(limit)
}

// floor says why the SLO is out of reach at any rate.
func (p *parts) floor() string {
	first, pace := p.prefill.slowest.ttft, p.servers()[len(p.servers())-1].slowest.tpot
	return fmt.Sprintf("even a request that has the replica to itself takes up to %s to the "+
		"first token and %s a token: %s of them could meet the SLO",
		units.FormatDuration(p.slow*p.late*first.Seconds()),
		units.FormatDuration(p.slow*pace.Seconds()),
		report.Percent(p.alone))
}

// unbounded is the number of replicas if nothing limits it.
const unbounded = math.MaxInt32

// inTime bounds the chance that a probe keeps a limit on the time per token, 0 standing for none,
// with the server to itself and steps that take slow times what is predicted.
func (s *server) inTime(probe int, limit sim.Time, slow float64) float64 {
	tokens := s.load.Probes[probe].Output - 1
	if s.drafts == nil || limit == 0 || tokens < 1 {
		return 1
	}
	// The mean over an answer is cut off at a picosecond.
	within := sim.Time(float64(limit+1) * float64(tokens) / slow)
	return s.drafts.inTime(waiting{tokens, s.alone[probe].plain, s.alone[probe].drafted, within})
}
