package capacity

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
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// PutBeside has the answer compared with a deployment that serves now. Its workload, SLO and seed
// are those of the plan. The plan must ask for the cheapest fleet of one model, and the deployment
// must be a fixed number of alike replicas.
func PutBeside(f *asked.File, today *scenarios.File) error {
	p := &f.Plan
	switch {
	case len(p.Models) > 0:
		return errors.New("the plan has several models; a deployment is compared for one")
	case p.Goal.Find != menu.FindCheapest:
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

// today returns the deployment of today with the requests of the plan, as asked and as built. It
// refuses one that cannot be built, or that serves another model.
func (s *search) today() (scenarios.Scenario, *scenarios.Simulation, error) {
	p := &s.Trials.File.Plan
	now := s.Trials.File.Today.Scenario
	now.Name, now.Workload, now.SLO, now.Seed, now.Tokens = p.Name, p.Workload, p.SLO, p.Seed, nil
	built, err := s.Built(now)
	if err != nil {
		return now, nil, fmt.Errorf("today's deployment: %w", err)
	}
	return now, built, s.sameModel(built)
}

// besideToday simulates the deployment of today and the answer with the same seeds.
func (s *search) besideToday(ctx context.Context) (*answer.Today, error) {
	p := &s.Trials.File.Plan
	now, built, err := s.today()
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
	if s.best >= 0 {
		length = s.size()
	}
	runs, met, err := judge.PoolOf(p.Seeds(s.Seeds), func(seed uint64) (oracle.Trial, int64,
		error) {
		again := now
		again.Seed += seed
		return s.Trials.Fleet(ctx, again, length, s.Rate, 1)
	})
	if err != nil {
		return nil, err
	}
	t.Met, t.Kept = met, judge.SharePooled(runs).Mean
	if s.best < 0 {
		return t, nil
	}
	return t, s.lead(ctx, t, built)
}

// sameModel refuses a deployment of another model than that of the plan.
func (s *search) sameModel(now *scenarios.Simulation) error {
	for _, o := range s.options {
		if o.Unfit() != "" {
			continue
		}
		then, err := s.Built(o.Scenario(&s.Trials.File.Plan.Menu, 1, 1))
		if err == nil && now.Model.Name != then.Model.Name {
			err = scenarios.BadInput(fmt.Errorf("today's deployment: model: found %s, and the "+
				"plan is for %s", now.Model.Name, then.Model.Name))
		}
		return err
	}
	return nil
}

// lead adds what the answer does, and the steps that lead there from today's deployment.
func (s *search) lead(ctx context.Context, t *answer.Today, now *scenarios.Simulation) error {
	o := s.chosen().Spared(s.Spare)
	runs, met, err := s.Pool(ctx, o, s.size(), candidate.AsPredicted(), s.Seeds)
	if err != nil {
		return err
	}
	kept := judge.SharePooled(runs).Mean
	t.AnswerKept, t.AnswerMet = &kept, &met
	if t.Hourly != nil {
		saved := *t.Hourly - s.cost()
		t.Saved = &saved
	}
	then, err := s.Built(o.Scenario(&s.Trials.File.Plan.Menu, s.size(), 1))
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
	t.Steps = stepsTo(move{from: t.Replicas, to: s.size(), same: same, changes: restarts,
		routing: routing, today: t.Label, answer: s.label(s.best), beside: s.accelerators()})
	if base := s.baseOf(); base != nil {
		t.Steps = append(t.Steps, fmt.Sprintf("Rent %s on spot terms, and %d %s: start each "+
			"on its terms before one of today's stops.",
			units.Plural(s.size()-base.Replicas, "replica"), base.Replicas, base.Terms))
	}
	return nil
}
