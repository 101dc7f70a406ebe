package candidate

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Bound sets the price of an option and the bounds of its rate, given for how long its parts are
// busy.
func (o *Option) Bound(all []Busy) {
	if o.Unfit() != "" {
		return
	}
	if o.Price = o.Sum((*Server).hourly); o.Paired {
		first := o.Price
		o.Price = o.Prefill.Price + o.Decode.Price
		o.Surcharge = first - o.Price
	}
	load := o.Load()
	o.Ceiling = BoundSlack * load.Requests / (o.Slow * o.divided(all[0]))
	o.Least = 1
	for i := range load.Stretches {
		n := math.Ceil(o.Slow * o.divided(all[1+i]) / (BoundSlack * load.Stretches[i].Seconds))
		o.Least = max(o.Least, int32(min(n, Unbounded)))
	}
	o.boundMean(load)
}

// Busy bounds the seconds for which one replica of each kind is busy, in multiples of Parts.Slow;
// last is 0 if one kind does both.
type Busy struct{ first, last float64 }

// divided bounds the seconds for which a replica, or a group, is busy, given one of each kind.
func (o *Option) divided(b Busy) float64 {
	if o.Decode == nil {
		return b.first
	}
	return max(b.first/float64(o.Prefills), b.last/float64(o.Decodes))
}

// Bound sets what follows for all options of the same parts, and returns how long these are busy:
// with the whole load, and then with each of its stretches.
func (p *Parts) Bound(plan *asked.Plan) []Busy {
	if p.Unfit() != "" {
		return nil
	}
	p.judge(plan)
	if p.Unfit() != "" {
		return nil
	}
	p.latencies(p.Load())
	return p.busyFor(p.Load())
}

// busyFor bounds how long parts are busy with a load, and then with each of its stretches.
func (p *Parts) busyFor(load *asked.Load) []Busy {
	list := []Busy{p.busy(&load.Low, &load.Kept, load.TPOT)}
	for i := range load.Stretches {
		list = append(list, p.busyAtBest(&load.Stretches[i].Work, load.TPOT))
	}
	return list
}

// Tunable returns the option with the bounds of any settings that a plan tries beside those of its
// menu: where it leaves batching to the engine, steps of any size, and where it leaves the KV cache
// to it, one of half the bytes.
func (o *Option) Tunable(plan *asked.Plan) *Option {
	other, parts := *o, *o.Parts
	for _, s := range []**Server{&parts.Prefill, &parts.Decode} {
		if *s == nil {
			continue
		}
		given, loose := (*s).Asked(), **s
		if given.Batching.Policy == "" && given.Batching.Params == nil {
			loose.Pace.Batch = math.Inf(1)
		}
		if given.Engine.KVCache == "" && !plan.Menu.PlainCache {
			loose.Pace.room, loose.Pace.context = 2*loose.Pace.room, loose.Pace.context/2
		}
		*s = &loose
	}
	other.Parts, other.Scaling = &parts, o.Scaling.Copied()
	other.Bound(parts.busyFor(o.Load()))
	return &other
}

// judge sets how wrong the predicted step times may be.
func (p *Parts) judge(plan *asked.Plan) {
	weakest := *p.Prefill.Evidence
	if p.Decode != nil {
		weakest = evidence.Weakest([]evidence.Evidence{p.Prefill.Evidence.Apart(true),
			p.Decode.Evidence.Apart(false)})
	}
	p.Grade, p.Physics = weakest.Grade, PhysicsOf(weakest.Spread)
	worst := p.Physics.Worst(plan.Effort.Confidence)
	p.Slow, p.Late = worst.Steps, worst.Late
	switch missing := unmeasured(plan, &weakest); {
	case !trusted(plan.Trust, p.Grade):
		p.whyUntrusted = fmt.Sprintf("its predictions rest on %s, and the plan trusts %s", p.Grade,
			plan.Trust)
	case missing != "" && !trusted(plan.Trust, evidence.Relative):
		p.whyUntrusted = fmt.Sprintf("its %s was not measured, which the SLO limits, and the plan "+
			"trusts %s", missing, plan.Trust)
	}
}

// KnownOff lists in what way the predictions for the servers are known to be off.
func (p *Parts) KnownOff() (list []string) {
	for _, s := range p.Servers() {
		if s.Evidence == nil {
			continue
		}
		e := *s.Evidence
		if p.Decode != nil {
			e = e.Apart(s == p.Prefill && s != p.Decode)
		}
		if words := e.KnownOff(); words != "" && !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	return list
}

// Load returns the load that the parts face: contexts are limited to what each of its servers
// serves.
func (p *Parts) Load() *asked.Load {
	if d := p.Decode; d != nil &&
		d.Context < p.Prefill.Context {
		return d.Load
	}
	return p.Prefill.Load
}

// busy bounds the seconds for which one replica of each kind is busy with the work w. The part kept
// is of requests that keep a limit on the time per token; a limit of 0 does not apply.
func (p *Parts) busy(w, kept *asked.Work, limit sim.Time) Busy {
	b := Busy{first: p.Prefill.Pace.Both(w)}
	slowest, last := &b.first, &p.Prefill.Pace
	if p.Decode != nil {
		b = Busy{p.SlowPrompts() / p.Slow * p.Prefill.Pace.Prefill(w),
			p.Decode.Pace.Decode(w)}
		slowest, last = &b.last, &p.Decode.Pace
	}
	if limit > 0 {
		*slowest = max(*slowest, last.paced(w, kept, limit.Seconds()/p.Slow))
	}
	return b
}

// busyAtBest is busy for a part of the requests, which may be the requests with the best accepted
// drafts.
func (p *Parts) busyAtBest(w *asked.Work, limit sim.Time) Busy {
	best := *p
	for _, s := range []**Server{&best.Prefill, &best.Decode} {
		if *s != nil {
			lucky := **s
			lucky.Pace.Mean = lucky.Pace.Stride
			*s = &lucky
		}
	}
	return best.busy(w, w, limit)
}

// latencies computes the share of requests that could keep their limits if each had a replica to
// itself.
func (p *Parts) latencies(l *asked.Load) {
	p.Alone, p.Excess, p.Tight = 1, 0, false
	last := p.Servers()[len(p.Servers())-1]
	if p.Prefill.Load != l || last.Load != l {
		return // servers of different contexts: nothing is claimed
	}
	kept, n := 0.0, float64(len(l.Probes))
	for i := range l.Probes {
		times := p.times(l.Promises[i], p.Prefill.Alone[i].TTFT, last.Alone[i].TPOT,
			l.Probes[i].Output)
		if times <= 1 {
			kept += last.inTime(i, l.Promises[i].TPOT, p.Slow)
		}
		p.Excess += times / n
	}
	p.Alone = kept / n
	p.Tight = p.Alone+float64(3*math.Sqrt(p.Alone*(1-p.Alone)/n)) < l.Target-1e-9
	if last.Drafts != nil {
		p.Alone = math.Round(1e4*p.Alone) / 1e4 // a chance of 1e-19 counts as 0
	}
}

// times returns the latency of a request with a replica to itself, as a multiple of its limit.
func (p *Parts) times(slo metrics.SLO, ttft, tpot sim.Time, output int) float64 {
	ttft = sim.Time(p.SlowPrompts()*p.Late.First*float64(ttft)) +
		sim.Time(p.Prefill.Offer.RoundTrip)
	tpot = sim.Time(p.Slow * float64(tpot))
	return max(ratio(ttft, slo.TTFT), ratio(tpot, slo.TPOT),
		ratio(ttft+tpot*sim.Time(output-1), slo.E2E))
}

// ratio returns a latency as a multiple of its limit; 0 if there is no limit.
func ratio(t, limit sim.Time) float64 {
	if limit == 0 {
		return 0
	}
	return float64(t) / float64(limit)
}

// Floor says why the SLO is out of reach at any rate.
func (p *Parts) Floor() string {
	first, pace := p.Prefill.Slowest.TTFT, p.Servers()[len(p.Servers())-1].Slowest.TPOT
	trip, way := sim.Time(p.Prefill.Offer.RoundTrip), ""
	if trip > 0 {
		way = fmt.Sprintf(" (%s of that for messages there and back)",
			units.FormatDuration(trip.Seconds()))
	}
	return fmt.Sprintf("even a request that has the replica to itself takes up to %s to the "+
		"first token%s and %s a token: %s of them could meet the SLO",
		units.FormatDuration(float64(p.SlowPrompts()*p.Late.First*first.Seconds())+trip.Seconds()),
		way,
		units.FormatDuration(p.Slow*pace.Seconds()),
		units.Percent(p.Alone))
}

// Unbounded is the number of replicas if nothing limits it.
const Unbounded = math.MaxInt32

// inTime bounds the chance that a probe keeps a limit on the time per token (0: no limit), with the
// server to itself and steps that take slow times what is predicted.
func (s *Server) inTime(probe int, limit sim.Time, slow float64) float64 {
	tokens := s.Load.Probes[probe].Output - 1
	if s.Drafts == nil || limit == 0 || tokens < 1 {
		return 1
	}
	// The mean over an answer is cut off at a picosecond.
	within := sim.Time(float64(limit+1) * float64(tokens) / slow)
	return s.Drafts.inTime(waiting{tokens, s.Alone[probe].Plain, s.Alone[probe].Drafted, within})
}
