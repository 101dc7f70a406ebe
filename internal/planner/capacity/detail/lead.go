//go:build !js

package detail

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// lead adds what the answer does, and the steps that lead there from today's deployment.
func lead(ctx context.Context, f *Fleet, t *answer.Today, now *scenarios.Simulation) error {
	o := f.Option.Spared(f.Spare)
	runs, met, err := f.Pool(ctx, o, f.Size(), candidate.AsPredicted(), f.Seeds)
	if err != nil {
		return err
	}
	kept := judge.SharePooled(runs).Mean
	t.AnswerKept, t.AnswerMet = &kept, &met
	then, err := f.Built(o.Scenario(&f.Trials.File.Plan.Menu, f.Size(), 1))
	if err != nil {
		return err
	}
	changes, err := compare.Changes(&now.Scenario, &then.Scenario)
	if err != nil {
		return err
	}
	routing := ""
	for _, c := range changes {
		first, _, _ := strings.Cut(c.Key, ".")
		if !slices.Contains([]string{"model", "workload", "slo", "tokens", "replicas"}, first) &&
			c.Key != "hardware.price" {
			t.Changes = append(t.Changes, c.String())
		}
		if first == "routing" {
			routing = c.String()
		}
	}
	restarts := slices.DeleteFunc(slices.Clone(t.Changes), func(words string) bool {
		return strings.HasPrefix(words, "routing")
	})
	same := len(then.Scenario.Fleet.Pools) == 0 && now.Accelerator.Name == then.Accelerator.Name &&
		now.Scenario.Parallelism.Accelerators() == then.Scenario.Parallelism.Accelerators()
	t.Steps = stepsTo(move{from: t.Replicas, to: f.Size(), same: same, changes: restarts,
		routing: routing, today: t.Label, answer: f.Label(), beside: f.Accelerators()})
	if err := saved(f, o, t, now, same); err != nil {
		return err
	}
	base := f.Base()
	if base == nil && same && !o.OnDemand() {
		t.Steps = append(t.Steps, fmt.Sprintf("Rent %s on its terms: start each on them before "+
			"one of today's stops.", f.Label()))
	}
	if base != nil {
		t.Steps = append(t.Steps, fmt.Sprintf("Rent %s on spot terms, and %d %s: start each "+
			"on its terms before one of today's stops.",
			units.Plural(f.Size()-base.Replicas, "replica"), base.Replicas, base.Terms))
	}
	return nil
}

// saved sets what the answer costs less. Replicas that stay where they are cost what they cost
// today; further replicas, and replicas of other accelerators and terms, cost the plan's prices.
func saved(f *Fleet, o *candidate.Option, t *answer.Today, now *scenarios.Simulation,
	same bool) error {
	if t.Hourly == nil {
		return nil
	}
	less := *t.Hourly - f.Hourly
	t.Saved = &less
	if !same || !o.OnDemand() {
		return nil
	}
	price, err := f.Trials.File.Plan.InCurrency(scenarios.Money(now.Scenario.Hardware.Price))
	if err != nil {
		return err
	}
	stay := float64(min(t.Replicas, f.Size()))
	// Of a replica, the accelerators have two prices; host memory has the answer's.
	above := o.Prefill.Price - o.Prefill.Host - float64(price*float64(o.Prefill.GPUs))
	if math.Abs(above) > 1e-9*o.Prefill.Price {
		staying := less + float64(stay*above)
		t.Saved, t.SavedAsPlanned = &staying, &less
	}
	return nil
}

// move is a change from one fleet to another.
type move struct {
	from, to int // replicas
	// same reports whether replicas have the same accelerators before and after, so that each can
	// be restarted where it is.
	same          bool
	changes       []string // settings of replicas
	routing       string   // the change of the routing; empty without one
	today, answer string   // labels of the replicas
	beside        int      // the accelerators of the new fleet
}

// stepsTo lists the steps of a move in an order in which never fewer replicas serve than the lesser
// of both fleets has: what is new starts before what is old stops.
func stepsTo(m move) []string {
	steps := ofReplicas(m)
	if m.routing != "" {
		steps = append(steps, fmt.Sprintf("At the router, set %s.", m.routing))
	}
	return steps
}

// ofReplicas lists the steps that start, restart and stop replicas.
func ofReplicas(m move) []string {
	if !m.same {
		return []string{
			fmt.Sprintf("Start %s of %s beside today's. This takes %s more for as long as both "+
				"run.", units.Plural(m.to, "replica"), m.answer,
				units.Plural(m.beside, "accelerator")),
			"Send them a growing share of the requests, up to all.",
			fmt.Sprintf("Stop each replica of %s when its requests have ended.", m.today),
		}
	}
	if len(m.changes) == 0 {
		return counted(m)
	}
	first := max(1, m.to-m.from)
	steps := []string{fmt.Sprintf("Start %s with %s.", units.Plural(first, "replica"),
		strings.Join(m.changes, "; "))}
	if again := m.to - first; again > 0 {
		steps = append(steps, fmt.Sprintf("Restart %d of today's replicas with the new settings, "+
			"one at a time, each when its requests have ended: %d serve meanwhile.", again,
			m.from+first-1))
	}
	if stop := m.from + first - m.to; stop > 0 {
		steps = append(steps, stopping(stop))
	}
	return steps
}

// counted lists the steps where only the number of replicas changes.
func counted(m move) []string {
	switch {
	case m.to > m.from:
		return []string{fmt.Sprintf("Start %s more.", units.Plural(m.to-m.from, "replica"))}
	case m.to < m.from:
		return []string{stopping(m.from - m.to)}
	}
	return nil
}

func stopping(n int) string {
	if n == 1 {
		return "Stop 1 replica of today's when its requests have ended."
	}
	return fmt.Sprintf("Stop %s of today's, one at a time, each when its requests have ended, and "+
		"see before the next that the SLO is kept.", units.Plural(n, "replica"))
}
