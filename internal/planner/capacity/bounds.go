package capacity

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/scenarios/strict"
	"github.com/llmsim/llmsim/sim"
)

// bound sets what follows for an option from its servers: price and evidence, and the bounds of its
// rate and of its latencies.
func (o *option) bound(p *Plan) {
	if o.unfit() != "" {
		return
	}
	o.price, o.watts = o.sum((*server).hourly), o.sum((*server).peakPower)
	o.judge(p)
	if o.unfit() != "" {
		return
	}
	load := o.load()
	o.ceiling = slack * load.requests / (o.slow * max(o.busy(&load.work),
		o.paced(&load.kept, load.tpot)))
	o.least = 1
	for i := range load.stretches {
		st := &load.stretches[i]
		o.least = max(o.least,
			int(math.Ceil(o.slow*max(o.busy(&st.work),
				o.paced(&st.work, load.tpot))/(slack*st.seconds))))
	}
	o.latencies(load)
}

// judge sets how wrong the step times may be.
func (o *option) judge(p *Plan) {
	weakest := *o.prefill.evidence
	if o.decode != nil {
		weakest = evidence.Weakest([]evidence.Evidence{o.prefill.evidence.Apart(),
			o.decode.evidence.Apart()})
	}
	o.grade, o.physics = weakest.Grade, physics{weakest.Spread.TPOTBias, weakest.Spread.TPOT}
	o.slow = o.physics.slowdown(p.Effort.Confidence)
	if !trusted(p.Trust, o.grade) {
		o.distrust = fmt.Sprintf("its predictions rest on %s, and the plan trusts %s", o.grade,
			p.Trust)
	}
}

// load returns the load that the option faces: contexts are limited to what each of its servers
// serves.
func (o *option) load() *load {
	if d := o.decode; d != nil &&
		d.context < o.prefill.context {
		return d.load
	}
	return o.prefill.load
}

// busy bounds the seconds for which a replica, or a group, is busy with requests at the predicted
// pace.
func (o *option) busy(w *work) float64 {
	if o.decode == nil {
		return o.prefill.pace.both(w)
	}
	return max(o.prefill.pace.prefill(w)/float64(o.prefills),
		o.decode.pace.decode(w)/float64(o.decodes))
}

// paced bounds the seconds for which a replica, or a group, is busy at the predicted pace with the
// tokens of requests that keep a limit on the time per token; 0 where there is none.
func (o *option) paced(w *work, limit sim.Time) float64 {
	within := limit.Seconds() / o.slow
	switch {
	case limit == 0:
		return 0
	case o.decode == nil:
		return o.prefill.pace.paced(w, within)
	}
	return o.decode.pace.paced(w, within) / float64(o.decodes)
}

// latencies finds out how many requests could keep their limits if each had a replica to itself.
func (o *option) latencies(l *load) {
	o.alone, o.excess, o.tight = 1, 0, false
	last := o.servers()[len(o.servers())-1]
	if o.prefill.load != l || last.load != l {
		return // servers of different contexts: nothing is claimed
	}
	kept, n := 0, float64(len(l.probes))
	for i := range l.probes {
		times := o.times(l.promises[i], o.prefill.alone[i].ttft, last.alone[i].tpot,
			l.probes[i].Output)
		if times <= 1 {
			kept++
		}
		o.excess += times / n
	}
	o.alone = float64(kept) / n
	o.tight = o.alone+3*math.Sqrt(o.alone*(1-o.alone)/n) < l.target-1e-9
}

// times returns how many times its limits a request takes that has a replica to itself.
func (o *option) times(slo metrics.SLO, ttft, tpot sim.Time, output int) float64 {
	times := max(ratio(ttft, slo.TTFT), ratio(tpot, slo.TPOT),
		ratio(ttft+tpot*sim.Time(output-1), slo.E2E))
	return times * o.slow
}

// least returns the share of requests that must keep all limits of a request for an SLO to be kept:
// where each latency has percentiles of its own, at most the sum of what each lets miss may miss
// any.
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

// floor says why the SLO is out of reach at any rate.
func (o *option) floor() string {
	first, pace := o.prefill.slowest.ttft, o.servers()[len(o.servers())-1].slowest.tpot
	return fmt.Sprintf("even a request that has the replica to itself takes up to %s to the "+
		"first token and %s a token: %s of them could meet the SLO",
		units.FormatDuration(o.slow*first.Seconds()), units.FormatDuration(o.slow*pace.Seconds()),
		report.Percent(o.alone))
}

// count reads a whole number; 0 where there is none.
func count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
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
