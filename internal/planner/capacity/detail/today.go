package detail

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/planner/tuning"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/metrics"
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
		return j.Trials.Fleet(ctx, again, length, j.Rate, asked.LateBy(1), 0)
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

// Changed returns the options that differ from o in one setting that may help against the limit
// that binds in a run of a fleet of o, which costs less than the answer.
func Changed(j *judge.Judge, missed judge.Trial, o *candidate.Option) ([]*candidate.Option,
	error) {
	latency := asked.Binding(missed.Clauses).Latency
	for _, one := range []metrics.Latency{metrics.TTFT, metrics.TPOT} {
		if latency == "" && strings.HasSuffix(missed.Binds, strings.ToUpper(string(one))) {
			latency = one
		}
	}
	if strings.Contains(missed.Limit, "KV memory") {
		latency = "" // smaller steps leave more of it, larger ones take less time
	}
	return ChangedFor(j, o, latency)
}

// ChangedFor returns the options that differ from o in one setting that may help against a limit of
// a latency: smaller batches and chunks against TPOT and gaps, larger ones against TTFT, and any
// against other limits.
func ChangedFor(j *judge.Judge, o *candidate.Option, latency metrics.Latency) ([]*candidate.Option,
	error) {
	var list []*candidate.Option
	both := func(prefill, decode *candidate.Server) {
		other := *o
		other.Parts = &candidate.Parts{Prefill: prefill, Decode: decode}
		other.Scaling = o.Scaling.Copied() // it has bounds of its own
		list = append(list, &other)
	}
	for _, server := range o.Servers() {
		changes, err := changesOf(j, server, latency)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			switch {
			case o.Decode == nil:
				both(server.With(c), nil)
			case o.Decode == o.Prefill:
				same := server.With(c)
				both(same, same)
			case c.Key == candidate.KVCache: // which both sides of a group must share
				if server == o.Prefill {
					both(server.With(c), o.Decode.With(c))
				}
			case server == o.Prefill:
				both(server.With(c), o.Decode)
			default:
				both(o.Prefill, server.With(c))
			}
		}
		if o.Decode == o.Prefill {
			break
		}
	}
	return list, nil
}

// changesOf returns the changes of a server's batching and of the format of its KV cache, as far as
// the plan leaves these to the engine, that may help against a limit of a latency.
func changesOf(j *judge.Judge, server *candidate.Server,
	latency metrics.Latency) ([]candidate.Change,
	error) {
	steps, err := j.Trials.Steps(server)
	if err != nil {
		return nil, err
	}
	now := &steps.Scenario
	given := server.Asked()
	ours := func(key string) bool {
		return slices.ContainsFunc(server.Changes,
			func(c candidate.Change) bool { return strings.HasPrefix(c.Key, key) })
	}
	left := given.Batching.Policy == "" && given.Batching.Params == nil || ours("batching.")
	add := func(list []candidate.Change, key, name, value, was string) []candidate.Change {
		for _, old := range server.Changes {
			if old.Key == key {
				was = old.Default
			}
		}
		if value == was {
			return list // as it was at first
		}
		return append(list, candidate.Change{Key: key, Value: value,
			Setting: answer.Setting{Name: name, Value: value, Default: was},
			Policy:  now.Batching.Policy})
	}
	var list []candidate.Change
	for _, d := range tuning.Numbers(now) {
		for _, choice := range d.Choices[1:] {
			key, value, _ := strings.Cut(choice.Set[0], "=")
			if left && strings.HasPrefix(key, "batching.") &&
				candidate.Helps(latency, d.Choices[0].Label, value) {
				list = add(list, key, d.Name, value, d.Choices[0].Label)
				if n := len(list); n > 0 && list[n-1].Key == key {
					list[n-1].Role = d.Role
				}
			}
		}
	}
	if !j.Trials.File.Plan.Menu.PlainCache &&
		(given.Engine.KVCache == "" || ours(candidate.KVCache)) &&
		len(now.Engine.KVCache) == len("bf16") {
		name := candidate.KVCache
		if engine := engines.Of(now.Engine.Preset); engine != nil {
			if flag, known := engine.Table.Flag(candidate.KVCache); known {
				name = flag
			}
		}
		list = add(list, candidate.KVCache, name, "fp8", now.Engine.KVCache)
	}
	return list, nil
}

// Advise simulates a number of replicas of an option, and tries changes that may help.
func Advise(ctx context.Context, j *judge.Judge, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors) (*answer.Advice, error) {
	r, load, err := observed(ctx, j, o, replicas, wrong)
	if err != nil || r.Begun() == 0 {
		return nil, err
	}
	if r.SLOMet {
		return nil, nil // it is missed when replicas are away, with other seeds or in a longer run
	}
	a := &answer.Advice{Replicas: replicas, Slowdown: wrong.Steps, Late: wrong.First,
		Kept: r.Attainment.All, Target: r.Attainment.Target}
	// The plan itself counts replicas, so more of them is no advice.
	if err := planner.TryRemedies(ctx, load, r, "replicas"); err != nil {
		return nil, err
	}
	a.Remedies = r.Diagnosis.Remedies
	a.Insights = append(diagnosis.Missed(r), diagnosis.Remedies(&scenarios.Diagnosis{
		Remedies: a.Remedies})...)
	return a, nil
}

// observed simulates a whole fleet in this process, and returns a function that reads its scenario
// again.
func observed(ctx context.Context, j *judge.Judge, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors) (*scenarios.Result, func() (*scenarios.File, error), error) {
	p := &j.Trials.File.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	stats.Later(&scenario, wrong.First, 0)
	scenario, rate := j.Trials.Part(scenario, j.Rate)
	load := func() (*scenarios.File, error) {
		return j.Trials.File.File(scenario, rate, p.Together(rate, replicas))
	}
	file, err := load()
	if err != nil {
		return nil, nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	r, err := simulation.Run(ctx)
	return r, load, err
}

// inputChange is by how much inputs are changed.
const inputChange = 0.10

// Input is an input that may be other than the plan says.
type Input struct {
	Name string
	// Harder is 1 where the plan then asks for more, −1 where it asks for less, and 0 where prices
	// change.
	Harder int
	Plan   func(p *asked.Plan)
	Price  func(o *candidate.Option)
}

// Inputs lists inputs that may be other by 10 % than a plan says, whose answer is of an
// accelerator.
func Inputs(p *asked.Plan, mine string) []Input {
	const more, less = 1 + inputChange, 1 - inputChange
	list := []Input{
		{Name: "rate +10 %", Harder: 1, Plan: func(p *asked.Plan) { p.ScaleRate(more) }},
		{Name: "rate −10 %", Harder: -1, Plan: func(p *asked.Plan) { p.ScaleRate(less) }},
	}
	if !p.Workload.Recorded() {
		list = append(list,
			Input{Name: "prompts 10 % longer", Harder: 1,
				Plan: func(p *asked.Plan) { p.ScaleLengths(more, 1) }},
			Input{Name: "prompts 10 % shorter", Harder: -1,
				Plan: func(p *asked.Plan) { p.ScaleLengths(less, 1) }},
			Input{Name: "answers 10 % longer", Harder: 1,
				Plan: func(p *asked.Plan) { p.ScaleLengths(1, more) }},
			Input{Name: "answers 10 % shorter", Harder: -1,
				Plan: func(p *asked.Plan) { p.ScaleLengths(1, less) }})
	}
	// Steps that take 10 % longer are the same as time that runs 10 % faster for everybody else.
	list = append(list,
		Input{Name: "steps 10 % slower", Harder: 1,
			Plan: func(p *asked.Plan) { p.ScaleRate(more); p.ScaleLimits(1 / more) }},
		Input{Name: "steps 10 % faster", Harder: -1,
			Plan: func(p *asked.Plan) { p.ScaleRate(less); p.ScaleLimits(1 / less) }})
	dearer := func(name string, factor float64) func(*candidate.Option) {
		return func(o *candidate.Option) {
			if o.Uses(name) {
				o.ScalePrice(factor)
			}
		}
	}
	list = append(list, Input{Name: mine + " 10 % dearer", Price: dearer(mine, more)})
	for i := range p.Menu.Hardware {
		if name := p.Menu.Hardware[i].Accelerator; name != mine {
			list = append(list, Input{Name: name + " 10 % cheaper", Price: dearer(name, less)})
		}
	}
	return list
}
