package asked

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// checkService reports contradictions in a workload and its SLO, whose keys follow prefix.
func (c *checker) checkService(prefix string, w *scenarios.Workload, s *scenarios.SLO) {
	w.CloseLoop(prefix+"workload.", c.doc.Has, c.problem)
	rated := c.doc.Has(prefix+"workload.rate") || classesRated(w) || highest(&w.Rate) > 0
	if !rated && !w.Recorded() && w.Arrivals.Process != "closed-loop" {
		c.problem(prefix+"workload",
			"a plan needs a load that the fleet must serve: a rate such as rate: 8/s, a trace, "+
				"or users such as users: 200")
	}
	for i := range w.Classes {
		if w.Classes[i].Escalated != nil {
			c.problem(fmt.Sprintf("%sworkload.classes.%d.escalated", prefix, i), "a plan has a "+
				"model for requests that are sent on: list it in models, with escalated")
		}
	}
	if w.Arrivals.Process == "at-once" {
		c.problem(prefix+"workload.arrivals",
			"found at-once; a plan needs requests that arrive over time, or a job")
	}
	if (&Plan{Workload: *w}).Steady() && !c.Scaled() {
		c.refuse("the length of simulations follows from effort; leave this out",
			prefix+"workload.requests", prefix+"workload.duration")
	}
	s.Check(prefix+"slo", c.problem)
	if e := s.E2E.Request; e > 0 && e < s.TTFT.Request {
		c.problem(prefix+"slo.e2e", "the whole request within %v contradicts a first token "+
			"within %v", e, s.TTFT.Request)
	}
}

// rates lists the rate of a workload and of each of its classes.
func rates(w *scenarios.Workload) []*scenarios.Rate {
	list := []*scenarios.Rate{&w.Rate}
	for i := range w.Classes {
		list = append(list, &w.Classes[i].Rate)
	}
	return list
}

// sumRates adds up a figure of all rates of a workload, in requests a second.
func sumRates(w *scenarios.Workload, of func(*scenarios.Rate) float64) float64 {
	sum := 0.0
	for _, r := range rates(w) {
		sum += of(r)
	}
	return sum
}

// classesRated reports whether every class has a rate of its own.
func classesRated(w *scenarios.Workload) bool {
	return len(w.Classes) > 0 &&
		!slices.ContainsFunc(w.Classes, func(c scenarios.Class) bool {
			return highest(&c.Rate) == 0
		})
}

// escalate gives model i, whose key is field, the requests of the model before it that are sent on,
// and reports whether it has escalated. They are a share of requests that arrive at a steady rate
// and do not depend on each other, and are taken to arrive as these do. If arrivals are Poisson and
// a fleet is in a steady state, what leaves it and is sent on at random is close to Poisson (Burke,
// "The Output of a Queuing System", 1956, for exponential service).
func (c *checker) escalate(field string, i int) bool {
	p, m := c.Plan, &c.Models[i]
	if m.Escalated == nil {
		return false
	}
	c.refuse("has no meaning beside escalated; leave one of the two out", field+"workload")
	var names []string
	for k := range p.Models[:i] {
		names = append(names, cmp.Or(p.Models[k].Name, p.Models[k].Model))
	}
	k := slices.Index(names, m.Escalated.From)
	if k < 0 {
		c.problem(field+"escalated.from", "no model before this one: %s",
			nearest.Unknown("model", m.Escalated.From, names))
		return true
	}
	from := &Plan{Workload: p.Models[k].Workload}
	if !from.Steady() || p.Scaled() || from.Sessions() || from.Workload.Trace != nil {
		c.problem(field+"escalated", "the requests of %s are recorded, or belong to sessions or "+
			"users, or do not arrive at a steady rate; allowed: steady rates or waves of requests "+
			"by themselves. Give this model a workload instead", m.Escalated.From)
		return true
	}
	if m.Escalated.Share == 0 {
		c.problem(field+"escalated.share", "found 0; leave this model out")
		return true
	}
	from.ScaleRate(m.Escalated.Share)
	m.Workload = from.Workload
	return true
}

// EscalatedWords says where the requests of a model come from; empty if users send them.
func EscalatedWords(e *scenarios.Escalated) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%.3g%% of the requests of %s are sent on to this model after their "+
		"answer, and are taken to arrive as these do. The SLO counts from then.", 100*e.Share,
		e.From)
}

// Steady reports whether requests arrive at constant rates, or follow a wave, or phases that repeat
// after an hour or more, whose highest rate counts. Such a load can be simulated for as long as
// necessary.
func (p *Plan) Steady() bool {
	w := &p.Workload
	ends := w.Requests > 0 || w.Duration > 0
	return !p.Scaled() && w.Arrivals.Process != "closed-loop" && !p.RecordedTimes() &&
		!slices.ContainsFunc(rates(w), func(r *scenarios.Rate) bool {
			return !slices.Contains([]string{"", "steady", "wave"}, r.Pattern) &&
				(ends || r.Pattern != "phases" || periodOf(r) < hour)
		})
}

// RecordedTimes reports whether requests arrive at the recorded times.
func (p *Plan) RecordedTimes() bool {
	w := &p.Workload
	return w.Recorded() && w.Rate.Pattern == "" && w.Rate.Value == 0 && w.Arrivals.Process == ""
}

// Replayed reports whether the load begins and ends, and arrives whatever the fleet does.
func (p *Plan) Replayed() bool {
	return !p.Steady() && p.Workload.Arrivals.Process != "closed-loop"
}

// Divisible reports whether n replicas serve n times the rate of one. This holds if requests arrive
// at a steady rate, and if the latency of a request does not depend on where similar requests went.
func (p *Plan) Divisible() bool {
	w := &p.Workload
	shared := w.Prefix != nil || w.Distinct > 0 || p.Sessions() || w.Trace != nil ||
		len(p.Menu.Routing) > 1
	for i := range w.Classes {
		c := &w.Classes[i]
		shared = shared || c.Prefix != nil || c.Distinct > 0
	}
	return p.Steady() && !shared
}

// highest returns the highest rate of a steady pattern, in requests a second.
func highest(r *scenarios.Rate) float64 {
	if r.Pattern == "wave" {
		return float64(r.Average) * (1 + r.Swing)
	}
	top := float64(max(r.Value, r.High))
	for i := range r.Phases {
		top = max(top, float64(r.Phases[i].Rate), end(&r.Phases[i]))
	}
	return top
}

// Peak returns the rate that the fleet must sustain if the load is steady, in requests a second.
func (p *Plan) Peak() float64 {
	if !p.Steady() {
		return 0
	}
	return sumRates(&p.Workload, highest)
}

// Mean returns the rate of a steady load in the long run, in requests a second.
func (p *Plan) Mean() float64 {
	return sumRates(&p.Workload, func(r *scenarios.Rate) float64 {
		sum := 0.0
		for i := range r.Phases {
			ph := &r.Phases[i]
			sum += (float64(ph.Rate) + end(ph)) / 2 * float64(ph.For)
		}
		switch r.Pattern {
		case "wave":
			return float64(r.Average)
		case "phases":
			return sum / float64(max(1, periodOf(r)))
		}
		return float64(r.Value)
	})
}

// Put returns the workload at a rate, for a number of requests. A load that is not steady keeps its
// rate; it ends by itself, or after that number.
func (p *Plan) Put(w scenarios.Workload, rate float64, requests int64) scenarios.Workload {
	if p.Job != nil {
		w.Requests, w.Arrivals.Process = requests, "at-once"
		return w
	}
	if t := w.Trace; t != nil && !p.RecordedTimes() { // a trace may be shorter than a simulation
		again := *t
		again.Repeat = true
		w.Trace = &again
	}
	if !p.Steady() {
		if requests > 0 && w.Requests == 0 && w.Duration == 0 && !p.RecordedTimes() &&
			!w.Ends() {
			w.Requests = requests
		}
		return w
	}
	w.Requests = requests
	share := rate / p.Peak()
	hold := func(r scenarios.Rate) scenarios.Rate {
		if highest(&r) == 0 {
			return r
		}
		return scenarios.Rate{Value: scenarios.PerSecond(Round(share * highest(&r)))}
	}
	w.Classes = slices.Clone(w.Classes)
	apart := false
	for i := range w.Classes {
		apart = apart || highest(&w.Classes[i].Rate) > 0
		w.Classes[i].Rate = hold(w.Classes[i].Rate)
	}
	if w.Rate = hold(w.Rate); !apart {
		w.Rate = scenarios.Rate{Value: scenarios.PerSecond(rate)}
	}
	return w
}

// ScaleRate multiplies the load by a factor.
func (p *Plan) ScaleRate(by float64) {
	w := &p.Workload
	faster := func(t *scenarios.Trace) *scenarios.Trace {
		if t == nil || !p.RecordedTimes() {
			return t
		}
		again := *t
		again.Scale = cmp.Or(again.Scale, 1) * by
		return &again
	}
	w.Trace = faster(w.Trace)
	w.Classes = slices.Clone(w.Classes)
	for i := range w.Classes {
		w.Classes[i].Trace = faster(w.Classes[i].Trace)
	}
	for _, r := range rates(w) {
		scaleRate(r, by, func(rate float64) float64 { return rate })
	}
	if users := &w.Arrivals.Users; *users > 0 {
		*users = max(1, int(math.Round(float64(*users)*by)))
	}
}

// scaleRate multiplies a rate by a factor, and rounds it.
func scaleRate(r *scenarios.Rate, by float64, round func(float64) float64) {
	times := func(rate scenarios.PerSecond) scenarios.PerSecond {
		return scenarios.PerSecond(round(float64(rate) * by))
	}
	for _, rate := range []*scenarios.PerSecond{&r.Value, &r.Average, &r.High, &r.Low} {
		*rate = times(*rate)
	}
	r.Phases = slices.Clone(r.Phases)
	for i := range r.Phases {
		ph := &r.Phases[i]
		if ph.Rate = times(ph.Rate); ph.To != nil {
			to := times(*ph.To)
			ph.To = &to
		}
	}
}

// overload is the least excess of arrivals over what is served that a simulation is sure to show.
const overload = 0.05

// Lengths returns the requests of the first and of the longest simulation at a rate. The queue of a
// replica that is overloaded by a share of 5 % reaches the limit of the first token after 20 times
// that limit: no simulation is shorter.
func (p *Plan) Lengths(rate float64) (first, most int64) {
	s := &p.SLO
	limit := cmp.Or(s.TTFT.Strictest(), s.E2E.Strictest(), s.TPOT.Strictest(), s.ITL.Strictest())
	enough := int64(math.Ceil(rate * sim.Time(limit).Seconds() / overload))
	first = max(p.Effort.Requests, enough)
	return first, max(p.Effort.MostRequests, 4*enough)
}

// ReplayedWhole marks tasks whose requests all count, from the first to the last, and UntilHopeless
// tasks that end their load where they cannot keep the SLO any more.
const (
	ReplayedWhole = "-whole"
	UntilHopeless = "-until-hopeless"
)

// Params are the settings of the plan that Simulate needs.
func (p *Plan) Params() string {
	level := strconv.FormatFloat(p.Effort.Confidence, 'f', -1, 64)
	if p.Replayed() {
		level += ReplayedWhole
	}
	return level
}

// Round keeps six digits of a rate, so that equal rates are written the same.
func Round(rate float64) float64 { return units.Rounded(rate, 6) }

// mostTogether bounds the requests of the simulation of a whole fleet, unless its rate, or
// turnsEach for each user of a closed loop, ask for more.
const (
	mostTogether = 20_000
	turnsEach    = 20
)

// Together returns the requests of the simulation of a whole fleet.
func (p *Plan) Together(rate float64, replicas int) int64 {
	first, _ := p.Lengths(rate)
	return max(first, min(p.Effort.Requests*int64(replicas), mostTogether),
		turnsEach*int64(p.Workload.Arrivals.Users))
}

// Seeds returns how many runs are of use where that many are asked for: recorded requests are
// always the same, unless they are resampled.
func (p *Plan) Seeds(n int) int {
	if p.RecordedTimes() && !p.Workload.Resampled() {
		return 1
	}
	return n
}

// ScaleLimits multiplies all limits of latencies, the classes' too.
func (p *Plan) ScaleLimits(by float64) {
	scale := func(s *scenarios.SLO) {
		for _, limits := range []*scenarios.Limits{&s.TTFT, &s.TPOT, &s.ITL, &s.E2E} {
			*limits = limits.Scaled(by)
		}
	}
	scale(&p.SLO)
	for i := range p.Workload.Classes {
		scale(&p.Workload.Classes[i].SLO)
	}
}

// ScaleLengths multiplies the lengths of prompts and answers, the classes' too.
func (p *Plan) ScaleLengths(prompt, output float64) {
	w := &p.Workload
	w.Prompt, w.Output = w.Prompt.Scaled(prompt), w.Output.Scaled(output)
	for i := range w.Classes {
		c := &w.Classes[i]
		c.Prompt, c.Output = c.Prompt.Scaled(prompt), c.Output.Scaled(output)
	}
}

// Sessions reports whether requests of one user follow each other.
func (p *Plan) Sessions() bool {
	w := &p.Workload
	return w.Sessions != nil || len(w.Calls) > 0 || w.Preset != "" || w.Samples > 1 ||
		slices.ContainsFunc(w.Classes, func(c scenarios.Class) bool {
			return c.Sessions != nil || len(c.Calls) > 0 || c.Preset != "" || c.Samples > 1
		})
}

// Autoscale is a way of starting and stopping the replicas of a fleet with its load. The most
// replicas that run are what the plan looks for.
type Autoscale struct {
	Policy    string              `json:"policy" short:"true" required:"true" jsonschema:"The name of a scaling policy, as in a scenario's pool."`
	Min       *Fewest             `json:"min,omitempty" jsonschema:"The least number of replicas, or of groups, beside the spares: a number, or a range such as 0..4. With 0, all stop while there are no requests. Default: 1."`
	Every     scenarios.Span      `json:"every,omitempty" above:"0" jsonschema:"The time between decisions. Default: 15s."`
	ColdStart scenarios.ColdStart `json:"cold-start,omitzero" jsonschema:"How long the start of a replica takes. Default: no time."`
	Params    map[string]string   `json:"-" rest:"true"`
}

// Scalings lists the ways of scaling of the menu, beginning with a fixed number of replicas.
func (m *Menu) Scalings() []scenarios.Scaling {
	list := make([]scenarios.Scaling, 1)
	for i := range m.Scaling {
		a := &m.Scaling[i]
		from, to := 1, 1
		if a.Min != nil {
			from, to = a.Min.From, a.Min.To
		}
		for least := from; least <= to; least++ {
			list = append(list, scenarios.Scaling{Policy: a.Policy, Min: &least, Every: a.Every,
				ColdStart: a.ColdStart, Params: a.Params})
		}
	}
	return list
}

// ScalingWords names a way of scaling within the menu. What all have in common is left out.
func (m *Menu) ScalingWords(i int) string {
	way := m.Scalings()[i]
	first := &m.Scaling[0]
	differ := slices.ContainsFunc(m.Scaling, func(a Autoscale) bool {
		return a.Every != first.Every || !reflect.DeepEqual(a.ColdStart, first.ColdStart)
	})
	if !differ {
		way.Every, way.ColdStart = 0, scenarios.ColdStart{}
	}
	policy := way.Policy
	way.Policy = ""
	return "scaled by " + policy + " " + Settings(way)
}

// Scaled reports whether some fleets of the menu start and stop replicas. Then every fleet is
// judged by the whole of a load that changes and ends: a wave by one period.
func (p *Plan) Scaled() bool { return len(p.Menu.Scaling) > 0 }

// checkScaling refuses what cannot be planned with replicas that start and stop.
func (c *checker) checkScaling() {
	p := c.Plan
	if !p.Scaled() {
		return
	}
	const field = "menu.scaling"
	switch {
	case p.Job != nil:
		c.problem(field, "has no meaning together with a job, whose requests all wait at the "+
			"start; leave out one of the two")
	case p.Goal.Find != "" && p.Goal.Find != FindCheapest:
		c.problem(field, "is planned for the cheapest fleet only; leave it out, or leave out "+
			"goal %s", p.Goal.Find)
	}
	for i := range p.Models {
		c.checkScaled(fmt.Sprintf("models.%d.workload", i), &p.Models[i].Workload)
	}
	if len(p.Models) == 0 && p.Job == nil {
		c.checkScaled("workload", &p.Workload)
	}
	m := &p.Menu
	if !slices.ContainsFunc(m.Hardware, func(o Offer) bool { return o.Scalable() }) &&
		p.Prices == "" && m.Hardware != nil {
		c.problem(field, "all accelerators of menu.hardware are reserved, owned or spot: reserved "+
			"and owned ones are paid for even while they are off, and spot ones are planned in "+
			"fixed numbers; add an accelerator on demand, or leave scaling out")
	}
}

// checkScaled refuses a load with which scaling has no meaning, or that has no end.
func (c *checker) checkScaled(field string, w *scenarios.Workload) {
	p := &Plan{Workload: *w}
	ends := c.doc.Has(field+".duration") || c.doc.Has(field+".requests")
	switch {
	case w.Arrivals.Process == "closed-loop":
		c.problem(field+".arrivals", "found closed-loop; scaling is planned only for loads that "+
			"do not depend on the fleet: leave menu.scaling out, or give rates")
	case p.RecordedTimes():
	case p.Steady() && longestPeriod(w) == 0:
		c.problem(field, "arrives at a steady rate, for which there is nothing to start or stop: "+
			"leave menu.scaling out, or give a wave, phases, bursts or a recorded trace")
	case !p.Steady() && !ends && !w.Ends():
		c.problem(field, "has no end, and all fleets of menu.scaling are judged by the same "+
			"requests: give a duration such as duration: 2h")
	}
}

// Scalable reports whether money is saved by giving such accelerators back, and whether their
// number is for the plan to choose.
func (o *Offer) Scalable() bool { return o.RentedOn() == OnDemand }

// WholeLoad bounds the requests of a load that fleets with scaling are judged by, unless the plan
// allows for longer simulations.
const WholeLoad = 2_000_000
