package menu

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// checkService reports contradictions in a workload and its SLO, whose keys follow prefix.
func (p *Plan) checkService(doc *strict.Document, prefix string, w *scenarios.Workload,
	s *scenarios.SLO, problem func(field, format string, args ...any)) {
	rated := doc.Has(prefix+"workload.rate") || rates(w) || highest(&w.Rate) > 0
	if !rated && !w.Recorded() && w.Arrivals.Process != "closed-loop" {
		problem(prefix+"workload",
			"a plan needs a load that the fleet must serve: a rate such as rate: 8/s, a trace, "+
				"or users in a closed loop")
	}
	for i := range w.Classes {
		if w.Classes[i].Escalated != nil {
			problem(fmt.Sprintf("%sworkload.classes.%d.escalated", prefix, i), "a plan has a "+
				"model for requests that are sent on: list it in models, with escalated")
		}
	}
	if w.Arrivals.Process == "at-once" {
		problem(prefix+"workload.arrivals",
			"found at-once; a plan needs requests that arrive over time, or a job")
	}
	if (&Plan{Workload: *w}).Steady() && !p.Scaled() {
		for _, key := range []string{"requests", "duration"} {
			if doc.Has(prefix + "workload." + key) {
				problem(prefix+"workload."+key,
					"the length of simulations follows from effort; leave this out")
			}
		}
	}
	s.Check(prefix+"slo", problem)
	if e := s.E2E.Request; e > 0 && e < s.TTFT.Request {
		problem(prefix+"slo.e2e", "the whole request within %v contradicts a first token within %v",
			e, s.TTFT.Request)
	}
}

// rates reports whether every class has a rate of its own.
func rates(w *scenarios.Workload) bool {
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
func (p *Plan) escalate(doc *strict.Document, field string, i int,
	problem func(field, format string, args ...any)) bool {
	m := &p.Models[i]
	if m.Escalated == nil {
		return false
	}
	if doc.Has(field + "workload") {
		problem(field+"workload", "has no meaning beside escalated; leave one of the two out")
	}
	var names []string
	for k := range p.Models[:i] {
		names = append(names, cmp.Or(p.Models[k].Name, p.Models[k].Model))
	}
	k := slices.Index(names, m.Escalated.From)
	if k < 0 {
		problem(field+"escalated.from", "no model before this one: %s",
			nearest.Unknown("model", m.Escalated.From, names))
		return true
	}
	from := &Plan{Workload: p.Models[k].Workload}
	if !from.Steady() || p.Scaled() || from.Sessions() || from.Workload.Trace != nil {
		problem(field+"escalated", "the requests of %s are recorded, or belong to sessions or "+
			"users, or do not arrive at a steady rate; allowed: steady rates or waves of requests "+
			"by themselves. Give this model a workload instead", m.Escalated.From)
		return true
	}
	if m.Escalated.Share == 0 {
		problem(field+"escalated.share", "found 0; leave this model out")
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

// Steady reports whether requests arrive at constant rates, or follow a wave, of which the highest
// rate counts. Such a load can be simulated for as long as necessary.
func (p *Plan) Steady() bool {
	w := &p.Workload
	if p.Scaled() || w.Arrivals.Process == "closed-loop" || p.RecordedTimes() || !holds(&w.Rate) {
		return false
	}
	return !slices.ContainsFunc(w.Classes, func(c scenarios.Class) bool { return !holds(&c.Rate) })
}

// holds reports whether a rate is steady, or a wave.
func holds(r *scenarios.Rate) bool {
	return r.Pattern == "" || r.Pattern == "steady" || r.Pattern == "wave"
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
	return float64(max(r.Value, r.High))
}

// Peak returns the rate that the fleet must sustain if the load is steady, in requests a second.
func (p *Plan) Peak() float64 {
	if !p.Steady() {
		return 0
	}
	sum := highest(&p.Workload.Rate)
	for i := range p.Workload.Classes {
		sum += highest(&p.Workload.Classes[i].Rate)
	}
	return sum
}

// Mean returns the rate of a steady load in the long run, in requests a second.
func (p *Plan) Mean() float64 {
	average := func(r *scenarios.Rate) float64 {
		if r.Pattern == "wave" {
			return float64(r.Average)
		}
		return float64(r.Value)
	}
	sum := average(&p.Workload.Rate)
	for i := range p.Workload.Classes {
		sum += average(&p.Workload.Classes[i].Rate)
	}
	return sum
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
	scale := func(r *scenarios.Rate) {
		for _, rate := range []*scenarios.PerSecond{&r.Value, &r.Average, &r.High, &r.Low} {
			*rate *= scenarios.PerSecond(by)
		}
		r.Phases = slices.Clone(r.Phases)
		for i := range r.Phases {
			ph := &r.Phases[i]
			ph.Rate *= scenarios.PerSecond(by)
			if ph.To != nil {
				to := *ph.To * scenarios.PerSecond(by)
				ph.To = &to
			}
		}
	}
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
		scale(&w.Classes[i].Rate)
	}
	scale(&w.Rate)
	w.Arrivals.Users = int(math.Round(float64(w.Arrivals.Users) * by))
}
