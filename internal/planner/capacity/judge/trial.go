package judge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Trial is the result of a simulation of a replica, or of a fleet, at a rate.
type Trial struct {
	// Clauses are the parts of the SLO, over the requests after the warm-up; Kept and Target belong
	// to the clause that binds.
	Clauses []asked.Clause `json:"clauses"`
	Kept    stats.Interval `json:"kept"`
	Target  float64        `json:"target"`
	// Classes has the share of each class of requests, if there are several.
	Classes []answer.ClassKept `json:"classes,omitempty"`
	// Growing reports whether latencies grow over the whole run, because more requests arrive than
	// are served.
	Growing bool `json:"growing"`
	// Stopped reports whether the load was ended early, because the run could no longer keep the
	// SLO.
	Stopped bool `json:"stopped,omitempty"`
	// Short reports whether requests take longer than half of the run, which then shows no
	// steady state.
	Short bool `json:"short"`
	// Limit says in words why requests missed the SLO.
	Limit string `json:"limit"`
	// Causes says in words what makes latencies long.
	Causes Causes `json:"causes"`
	// All is the share of all requests that met the SLO. Met reports whether the SLO was met, and
	// Binds names the limit that binds.
	All   float64 `json:"all"`
	Met   bool    `json:"met"`
	Binds string  `json:"binds"`
	// Seconds is how long the run took.
	Seconds float64 `json:"seconds"`
	// Running is the mean number of replicas of each pool that ran or were starting, for the time
	// from the first request to the last, including what they ran after that. It is empty if all
	// replicas run all the time.
	Running []float64 `json:"running,omitempty"`
	// Unused is the number of replicas that never ran.
	Unused int `json:"unused,omitempty"`
	// Arriving is the number of requests a second that arrive after the warm-up.
	Arriving float64 `json:"arriving_requests_per_second,omitempty"`
	// Flow is the number of output tokens a second.
	Flow float64 `json:"output_tokens_per_second"`
	// Tokens counts the tokens of completed requests.
	Tokens scenarios.TokenCounts `json:"tokens"`
	// EnergyPerMillion is the energy for a million output tokens, in Wh.
	EnergyPerMillion float64 `json:"wh_per_million_output_tokens"`
	// Latencies are the latencies of all requests in milliseconds, by the names of metrics.
	Latencies map[string]float64 `json:"latencies"`
}

// Under returns the trial where latencies are later by some factors than what was simulated.
func (t Trial) Under(late asked.Late) Trial {
	if late == asked.LateBy(1) || len(t.Clauses) == 0 {
		return t
	}
	simulated := t.Clauses
	t.Clauses = slices.Clone(t.Clauses)
	for i := range t.Clauses {
		t.Clauses[i] = t.Clauses[i].Under(late)
	}
	place := asked.BindingPart(t.Clauses)
	g, before := &t.Clauses[place], &simulated[place]
	t.Kept, t.Target = g.Kept, g.Target
	if g.Kept.Mean >= min(g.Target, before.Kept.Mean) {
		return t
	}
	// The first token is the reason unless the others being late makes fewer keep the limits.
	late.Tail = 1
	first, cause := g.Kept.Mean >= before.Under(late).Kept.Mean, t.Causes.Other
	if first {
		cause = t.Causes.First
	}
	t.Limit = fmt.Sprintf("%s%s of the requests keep the limit of %s, as late as it may be%s: %s",
		classOf(g), units.PercentOf(g.Kept.Mean, g.Target), g.LimitWords(first), t.grows(), cause)
	return t
}

// grows says that the queue grows, where it does. Latencies of conversations grow as well, while
// their texts do.
func (t *Trial) grows() string {
	if t.Growing && t.Causes.Full {
		return ", and the queue grows"
	}
	return ""
}

// classOf says of which class requests are, as a sentence begins; "" of all.
func classOf(g *asked.Clause) string {
	if g.Class == "" {
		return ""
	}
	return "of " + g.Class + ", "
}

// Causes says in words what makes first tokens late, and what the others.
type Causes struct {
	First string `json:"first"`
	Other string `json:"other"`
	// Full is set where a pool, or a link between pools, hardly rests: elsewhere no queue grows.
	Full bool `json:"full,omitempty"`
}

// full is the share of the time from which on replicas and links hardly rest.
const full = 0.9

// causes returns what a run was late for.
func causes(r *scenarios.Result) Causes {
	return Causes{diagnosis.Cause(r, true), diagnosis.Cause(r, false), r.Busy >= full ||
		r.Fleet != nil && r.Fleet.LinkBusy >= full ||
		slices.ContainsFunc(r.Pools, func(p scenarios.PoolResult) bool { return p.Busy >= full })}
}

// Verdict is the decision whether a rate is sustained.
type Verdict struct {
	Rate      float64
	Sustained bool
	Trial     Trial
	// Unused reports whether some replicas of a scaled fleet never ran, so that more would show the
	// same.
	Unused bool
}

// Kind is the kind of the queue's tasks that are simulations of a plan.
const Kind = "trial"

// Simulate runs a scenario and sums up what it shows, a queue.Handler. The parameter is the
// confidence of the interval, whether all requests count, and whether a hopeless run ends early.
func Simulate(ctx context.Context, f *scenarios.File, params string) (any, error) {
	params, ends := strings.CutSuffix(params, asked.UntilHopeless)
	confidence, whole := strings.CutSuffix(params, asked.ReplayedWhole)
	level, err := strconv.ParseFloat(confidence, 64)
	if err != nil {
		return nil, err
	}
	simulation, err := f.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	simulation.Unsampled()
	load := &hopefulLoad{left: math.MaxInt64, simulation: simulation}
	if promise := simulation.SLO(0); ends && promise.Share > 0 && promise.Percentiles == nil {
		requests := simulation.Scenario.Workload.Requests
		load.left = int64(2 * (1 - promise.Share) * float64(requests))
		simulation.ReplaceSource(func(workload sim.Source) sim.Source {
			load.Source = workload
			return load
		})
	}
	seen, err := planner.Watch(ctx, simulation, load)
	if err != nil {
		return nil, err
	}
	t := Summarize(seen, level, whole)
	t.Stopped = load.left < 0
	return t, nil
}

// hopefulLoad is the load of a run that ends where more requests have missed the SLO than a second
// run without a miss would make up for: see Trial.Hopeless. What is under way is still served, so
// that the run is one with fewer requests.
type hopefulLoad struct {
	sim.Source
	sim.NopObserver
	simulation *scenarios.Simulation
	left       int64 // how many more requests may miss the SLO; below 0 the run is hopeless
}

// NextArrival implements sim.Source.
func (l *hopefulLoad) NextArrival() sim.Time {
	if l.left < 0 {
		return sim.Never
	}
	return l.Source.NextArrival()
}

// Finished implements sim.Observer.
func (l *hopefulLoad) Finished(s *sim.Sequence) {
	if !l.simulation.SLO(s.Class).Kept(s, s.E2E()) {
		l.left--
	}
}

// Rejected implements sim.Observer.
func (l *hopefulLoad) Rejected(*sim.Request, sim.Rejection) { l.left-- }

// Sustains decides whether a replica sustains a rate: the share of requests that meet the SLO is at
// least what the SLO asks for, the queue does not grow, and the run is long enough to show it. The
// simulation is doubled in length until the interval of that share is clear of what the SLO asks
// for.
func (t *Trials) Sustains(ctx context.Context, o *candidate.Option, rate float64) (Verdict, error) {
	rate = asked.Round(rate)
	v := Verdict{Rate: rate}
	first, most := t.File.Plan.Lengths(rate)
	if t.Rough {
		most = min(most, 4*first)
	}
	for n := first; ; n = min(2*n, most) {
		var err error
		scenario := o.Scenario(&t.File.Plan.Menu, 1, o.Slow)
		scenario.Seed += t.Seed
		if v.Trial, err = t.Trial(ctx, scenario, rate, n); err != nil {
			return v, err
		}
		v.Trial = v.Trial.Under(o.Late)
		kept := v.Trial.Kept
		sure := kept.Excludes(v.Trial.Target) || kept.Half == 0
		v.Sustained = kept.Mean >= v.Trial.Target && !v.Trial.Growing && !v.Trial.Short
		enough := v.Trial.fills(rate)
		if v.Sustained && n < enough {
			most = max(most, enough)
			continue
		}
		if sure && (v.Sustained || kept.Mean < v.Trial.Target) || n >= most {
			return v, nil
		}
	}
}

// Judge sums up what was observed: of all requests where whole, else of those after the warm-up and
// before the end of the load shows.
func Summarize(seen *planner.Observation, confidence float64, whole bool) Trial {
	r := seen.Result
	t := Trial{All: r.Attainment.All, Met: r.SLOMet, Binds: r.Binds,
		EnergyPerMillion: r.EnergyPerMillion, Flow: r.OutputThroughput,
		Seconds: r.Duration, Latencies: latencies(seen.Requests),
		Tokens: scenarios.CountTokens(&r.Summary), Running: running(seen)}
	if r.Fleet != nil {
		t.Unused = r.Fleet.Replicas - r.Fleet.UsedReplicas
	}
	requests, drop := seen.Requests, 0
	if !whole {
		requests, drop = t.settled(seen)
	}
	if last := len(requests) - 1; last > drop {
		if span := requests[last].Arrival - requests[drop].Arrival; span > 0 {
			t.Arriving = float64(last-drop) / span.Seconds()
		}
	}
	t.Clauses = asked.Clauses(seen, requests[drop:], confidence)
	g := asked.Binding(t.Clauses)
	t.Kept, t.Target = g.Kept, g.Target
	for _, c := range seen.Simulation.Scenario.Workload.Classes {
		t.Classes = append(t.Classes, answer.ClassKept{Name: c.Name,
			Kept: r.Classes[c.Name].Attainment.All})
	}
	t.Limit = limit(seen, &t, &g)
	return t
}

// running returns how many replicas of each pool ran or were starting, over the time in which
// requests arrived: from the first of them, as the duration of a result is counted, to the last.
func running(seen *planner.Observation) []float64 {
	r := seen.Result
	lasts := r.Duration
	if n := len(seen.Requests); n > 0 && seen.Requests[n-1].Arrival > seen.Requests[0].Arrival {
		lasts = (seen.Requests[n-1].Arrival - seen.Requests[0].Arrival).Seconds()
	}
	var list []float64
	for i := range r.Pools {
		list = append(list, r.Pools[i].MeanReplicas*r.Duration/lasts)
	}
	if list == nil && r.Fleet != nil { // of one pool
		list = append(list, r.Fleet.MeanReplicas*r.Duration/lasts)
	}
	return list
}

// settled returns the requests of the steady state after the warm-up, and notes whether there is a
// steady state.
func (t *Trial) settled(seen *planner.Observation) (requests []planner.Request, drop int) {
	requests = seen.Requests[:seen.Steady()]
	if t.Short = 2*len(requests) < len(seen.Requests); t.Short {
		requests = seen.Requests
	}
	ttft, tpot := make([]float64, len(requests)), make([]float64, len(requests))
	for i := range requests {
		ttft[i], tpot[i] = requests[i].TTFT.Seconds(), requests[i].TPOT.Seconds()
	}
	drop, settled := stats.WarmUp(ttft)
	_, even := stats.WarmUp(tpot)
	t.Growing = !settled && growing(ttft) || !even && growing(tpot)
	return requests, drop
}

// growing reports whether the last quarter of a series is a tenth above the second.
func growing(series []float64) bool {
	quarter := len(series) / 4
	early, late := 0.0, 0.0
	for i := range quarter {
		early += series[quarter+i]
		late += series[3*quarter+i]
	}
	return late > 1.1*early
}

// limit notes what makes latencies long, and says why requests miss the SLO; its part g binds.
func limit(seen *planner.Observation, t *Trial, g *asked.Clause) string {
	r := seen.Result
	a := &r.Attainment
	if class, ok := r.Classes[g.Class]; ok {
		a = &class.Attainment
	}
	t.Causes = causes(r)
	latency, kept := diagnosis.Worst(a)
	first, words := latency == "TTFT", fmt.Sprintf("%s of the requests keep the limit of %s",
		units.PercentOf(kept, g.Target), latency)
	if g.Name != "" {
		first, words = g.Latency == metrics.TTFT, fmt.Sprintf("%s of the requests keep the "+
			"limit of %s", units.PercentOf(g.Kept.Mean, g.Target), g.Name)
	}
	cause := t.Causes.Other
	if first {
		cause = t.Causes.First
	}
	return classOf(g) + words + t.grows() + ": " + cause
}

// A replica that begins empty takes some lengths of a request to fill. What keeps the SLO at a rate
// is simulated for enough of them, unless that takes more than mostFilling requests.
const (
	filling     = 10
	mostFilling = 300_000
)

// fills returns how many requests it takes at a rate until what is served has been full for long.
func (t *Trial) fills(rate float64) int64 {
	return int64(min(mostFilling, filling*rate*t.Latencies["mean_e2el_ms"]/1000))
}

// Keeps reports whether the SLO was kept, and would still be kept in a longer run.
func (t *Trial) Keeps() bool { return t.Kept.Mean >= t.Target-1e-12 && !t.Growing && !t.Short }

// Hopeless reports whether a second run as long, all of whose requests keep the SLO, would not make
// up for the requests that miss it.
func (t *Trial) Hopeless() bool { return t.Stopped || (t.Kept.Mean+1)/2 < t.Target-1e-12 }

// rounding is how far above 1 the mean of shares may come by adding them up.
const rounding = 1e-9

// Check refuses results that no simulation gives: shares outside 0 to 1, and figures that are
// negative or not finite.
func (t *Trial) Check() error {
	for name, share := range map[string]float64{"the mean share": t.Kept.Mean,
		"the target": t.Target, "the share of all": t.All} {
		if !(share >= 0 && share <= 1+rounding) {
			return fmt.Errorf("%s: found %g, want 0 to 1", name, share)
		}
	}
	for name, v := range map[string]float64{"the interval": t.Kept.Half,
		"the energy": t.EnergyPerMillion, "the flow": t.Flow, "the duration": t.Seconds} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: found %g, want a finite number from 0", name, v)
		}
	}
	if c := t.Tokens; c.Cached < 0 || c.Cached > c.Input || c.Output < 0 {
		return fmt.Errorf("the tokens: found %+v, which contradict each other", c)
	}
	for name, v := range t.Latencies {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("latencies.%s: found %g, want a finite number from 0", name, v)
		}
	}
	return nil
}

// latencies returns the mean and the 99th percentile of each latency over the requests that were
// served, in milliseconds, by the names of results. The time per token is over answers of more than
// one token.
func latencies(requests []planner.Request) map[string]float64 {
	ttft, e2e := make([]sim.Time, 0, len(requests)), make([]sim.Time, 0, len(requests))
	tpot := make([]sim.Time, 0, len(requests))
	for i := range requests {
		r := &requests[i]
		if r.Rejected {
			continue
		}
		ttft = append(ttft, r.TTFT)
		if !r.Cut {
			e2e = append(e2e, r.E2E)
		}
		if r.Output > 1 {
			tpot = append(tpot, r.TPOT)
		}
	}
	figures := map[string]float64{}
	for name, list := range map[string][]sim.Time{"ttft": ttft, "tpot": tpot, "e2el": e2e} {
		figures["mean_"+name+"_ms"], figures["p99_"+name+"_ms"] = spreadOf(list)
	}
	return figures
}

// spreadOf returns the mean and the 99th percentile, by the nearest rank, in milliseconds; 0 of an
// empty list. It sorts the list.
func spreadOf(list []sim.Time) (mean, p99 float64) {
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	sum, n := 0.0, float64(len(list))
	for _, t := range list {
		sum += float64(Milliseconds(t))
	}
	return sum / n, Milliseconds(list[int(math.Ceil(0.99*n))-1])
}

// Milliseconds returns a time in milliseconds.
func Milliseconds(t sim.Time) float64 { return 1000 * t.Seconds() }
