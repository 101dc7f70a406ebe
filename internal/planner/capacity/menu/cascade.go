package menu

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

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
	return fmt.Sprintf("%.3g%% of the requests of %s are sent on to this model after their answer, "+
		"and are taken to arrive as these do. The SLO counts from then.", 100*e.Share, e.From)
}
