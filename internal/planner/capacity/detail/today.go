package detail

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// PutBeside has the answer compared with a deployment that serves now. Its workload, SLO and seed
// are the plan's. The plan must ask for the cheapest fleet of one model, and the deployment must be
// a fixed number of alike replicas.
func PutBeside(f *asked.File, today *scenarios.File) error {
	p := &f.Plan
	switch {
	case len(p.Models) > 0:
		return errors.New("the plan has several models; a deployment is compared for one")
	case p.Goal.Find != asked.FindCheapest:
		return fmt.Errorf("the goal of the plan is %s; a deployment is compared with the cheapest "+
			"fleet", p.Goal.Find)
	case p.Scaled():
		return errors.New("the plan has menu.scaling; a deployment is compared with fixed " +
			"numbers of replicas")
	case !reflect.DeepEqual(today.Scenario.Fleet, scenarios.Fleet{}):
		return errors.New("fleet: found settings; a deployment that is compared is a fixed " +
			"number of alike replicas (key replicas)")
	}
	equipment, err := today.Equipment(policies.Default())
	if err == nil {
		_, err = p.InCurrency(scenarios.Money(equipment.Price))
	}
	if err != nil {
		return fmt.Errorf("hardware.price: %w", err)
	}
	f.Today = today
	return nil
}

// Deployment returns the deployment of today with the requests of the plan, as asked and as built.
// It refuses one that cannot be built, or that serves another model.
func Deployment(j *judge.Judge, options []*candidate.Option) (scenarios.Scenario,
	*scenarios.Simulation, error) {
	p := &j.Trials.File.Plan
	now := j.Trials.File.Today.Scenario
	now.Name, now.Workload, now.SLO, now.Seed, now.Tokens = p.Name, p.Workload, p.SLO, p.Seed, nil
	built, err := j.Built(now)
	if err != nil {
		return now, nil, fmt.Errorf("today's deployment: %w", err)
	}
	return now, built, sameModel(j, options, built)
}

// Compare simulates the deployment of today and the best fleet, or nil, with the same seeds.
// Options are the plan's options.
func Compare(ctx context.Context, j *judge.Judge, options []*candidate.Option,
	best *Fleet) (*answer.Today, error) {
	p := &j.Trials.File.Plan
	now, built, err := Deployment(j, options)
	if err != nil {
		return nil, err
	}
	each := built.Scenario.Parallelism.Accelerators()
	t := &answer.Today{Replicas: max(1, now.Replicas)}
	t.Accelerators = t.Replicas * each
	t.Label = fmt.Sprintf("%d × %s", each, built.Accelerator.Name)
	if price := built.Scenario.Hardware.Price; price.Amount > 0 {
		price.Amount = float64(float64(t.Accelerators)*price.Amount) +
			float64(float64(t.Replicas)*built.Scenario.Memory.HostHourly())
		hourly, err := p.InCurrency(scenarios.Money(price))
		if err != nil {
			return nil, err
		}
		t.Hourly = &hourly
	}
	length := t.Replicas
	if best != nil {
		length = best.Size()
	}
	runs, met, err := judge.PoolOf(p.Seeds(j.Seeds), func(seed uint64) (judge.Trial, int64,
		error) {
		again := now
		again.Seed += seed
		return j.Trials.Fleet(ctx, again, length, j.Rate, 1)
	})
	if err != nil {
		return nil, err
	}
	t.Met, t.Kept = met, judge.SharePooled(runs).Mean
	if best == nil {
		return t, nil
	}
	return t, lead(ctx, best, t, built)
}

// sameModel refuses a deployment of another model than the plan's.
func sameModel(j *judge.Judge, options []*candidate.Option, now *scenarios.Simulation) error {
	for _, o := range options {
		if o.Unfit() != "" {
			continue
		}
		then, err := j.Built(o.Scenario(&j.Trials.File.Plan.Menu, 1, 1))
		if err == nil && now.Model.Name != then.Model.Name {
			err = scenarios.BadInput(fmt.Errorf("today's deployment: model: found %s, and the "+
				"plan is for %s", now.Model.Name, then.Model.Name))
		}
		return err
	}
	return nil
}

// lead adds what the answer does, and the steps that lead there from today's deployment.
func lead(ctx context.Context, f *Fleet, t *answer.Today, now *scenarios.Simulation) error {
	o := f.Option.Spared(f.Spare)
	runs, met, err := f.Pool(ctx, o, f.Size(), candidate.AsPredicted(), f.Seeds)
	if err != nil {
		return err
	}
	kept := judge.SharePooled(runs).Mean
	t.AnswerKept, t.AnswerMet = &kept, &met
	if t.Hourly != nil {
		saved := *t.Hourly - f.Hourly
		t.Saved = &saved
	}
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
	if base := f.Base(); base != nil {
		t.Steps = append(t.Steps, fmt.Sprintf("Rent %s on spot terms, and %d %s: start each "+
			"on its terms before one of today's stops.",
			units.Plural(f.Size()-base.Replicas, "replica"), base.Replicas, base.Terms))
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
