package detail

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Deploy simulates the chosen fleet whole, with and without its spares, for the same number of
// requests, so that the scenario of the answer shows both.
func (f *Fleet) Deploy(ctx context.Context) (*answer.Deployment, error) {
	var full, reduced judge.Trial
	var file *scenarios.File
	var interrupted *answer.Interrupted
	var chances []answer.Chance
	var insights []string
	var curve []answer.LoadPoint
	var likely *answer.CheaperFleet
	fixed := 0
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		var requests int64
		reduced, requests, err = f.Simulate(within, f.Option, f.Replicas,
			candidate.AsPredicted(), 0)
		if err != nil {
			return err
		}
		if full, err = f.whole(within, requests); err != nil {
			return err
		}
		if f.Curved {
			if curve, err = f.curve(within, requests); err != nil {
				return err
			}
		}
		if file, err = f.WholeFile(requests); err == nil && f.Trials.Shard.Whole() {
			insights, err = f.insights(within, requests)
		}
		return err
	})
	group.Go(func() (err error) { interrupted, err = f.Interrupt(within); return err })
	group.Go(func() (err error) { chances, err = f.chances(within); return err })
	group.Go(func() (err error) { likely, err = f.likely(within); return err })
	if f.Option.Scaled() {
		group.Go(func() (err error) { fixed, err = f.fixedInstead(within, f.Option); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	d, err := f.Deployment(file, full, reduced)
	if err != nil {
		return nil, err
	}
	d.Interrupted, d.Chances, d.Likely = interrupted, chances, likely
	d.Insights, d.Curve = insights, curve
	if fixed > 0 {
		d.Scaled.Fixed = fixed + f.Spare
		d.Scaled.FixedHourly = f.Option.Cost(fixed + f.Spare)
	}
	return d, nil
}

// part returns the scenario of the fleet with all its replicas and its whole rate, or the replicas
// and the rate of the part that is simulated for it.
func (f *Fleet) part() (scenarios.Scenario, float64) {
	return f.Trials.Part(f.Option.Spared(f.Spare).Scenario(&f.Trials.File.Plan.Menu, f.Size(), 1),
		f.Rate)
}

// whole simulates the fleet with all its replicas.
func (f *Fleet) whole(ctx context.Context, requests int64) (judge.Trial, error) {
	scenario, rate := f.part()
	return f.Trials.Trial(ctx, scenario, rate, requests)
}

// insights returns the diagnosis of the fleet, as `llmsim scenario` gives it for its scenario.
func (f *Fleet) insights(ctx context.Context, requests int64) ([]string, error) {
	file, err := f.WholeFile(requests)
	if f.ByPart(f.Option, f.Size()) {
		scenario, rate := f.part()
		file, err = f.Trials.File.File(scenario, rate, requests)
	}
	if err != nil {
		return nil, err
	}
	r, err := file.Run(ctx, policies.Default())
	if err != nil {
		return nil, err
	}
	return diagnosis.Of(r), nil
}

// WholeFile returns the scenario of the chosen fleet with all its replicas, for the number of
// requests that were simulated, or where a part of the fleet was, the number that a fleet of its
// size has.
func (f *Fleet) WholeFile(requests int64) (*scenarios.File, error) {
	p := &f.Trials.File.Plan
	if f.ByPart(f.Option, f.Size()) {
		requests = p.Together(f.Rate, f.Size())
	}
	o := f.Option.Spared(f.Spare)
	scenario := pooled(o, o.Scenario(&p.Menu, f.Size(), 1), f.Size())
	scenario.Tokens = p.Tokens
	return f.Trials.File.File(scenario, f.Rate, requests)
}

// Deployment describes the fleet, given its scenario and what that shows with and without spares.
func (f *Fleet) Deployment(file *scenarios.File, full, reduced judge.Trial) (*answer.Deployment,
	error) {
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	defer simulation.Source.Close()
	text, err := simulation.Explain()
	if err != nil {
		return nil, err
	}
	o := f.Option
	whole, n := o.Whole(f.Size())
	load := simulation.Source.Summary().Text
	d := &answer.Deployment{
		Load:  load[:max(0, strings.LastIndex(load, "; "))],
		Label: whole.Label(&f.Trials.File.Plan.Menu), Replicas: n, SparesPaired: o.Paired,
		Accelerators: f.Accelerators(),
		Hourly:       f.Hourly, Base: f.Base(),
		Kept: full.All, KeptWithoutSpares: reduced.All, Classes: full.Classes,
		EnergyPerMillion: full.EnergyPerMillion, Binds: full.Binds,
		Scenario: string(text), Grade: o.Grade, Scaled: f.scaledFleet(&full), Law: f.law(),
	}
	if n := f.Trials.File.Plan.Workload.Arrivals.Users; n > 0 {
		d.Users, d.Sent = n, full.Arriving
	}
	if err := start(d, simulation); err != nil {
		return nil, err
	}
	if carbon := o.Sum((*candidate.Server).Emission) / o.Watts(); carbon > 0 {
		d.Carbon = carbon * d.EnergyPerMillion / 1000
	}
	millions := f.Millions
	if millions == 0 {
		millions = full.Flow * 3600 / 1e6
	}
	if millions > 0 {
		d.PerMillion, d.GPUHours = d.Hourly/millions, d.MeanAccelerators()/millions
	}
	d.Sold = f.Trials.File.Plan.Tokens.Revenue(full.Tokens, millions, d.Hourly)
	return d, nil
}

// Fleet is the best fleet.
type Fleet struct {
	judge.Judge
	Option   *candidate.Option
	Replicas int // without the spares
	// Running is how many run on average, spares included, of a fleet that is scaled.
	Running float64
	Hourly  float64 // in units of the currency
	// Curved asks for simulations of the fleet below and above its load.
	Curved bool
	// Millions is how many million output tokens the load asks for in an hour; 0 if that depends on
	// the fleet.
	Millions float64
	// LeastFixed returns the least fixed number of replicas of a scaled option that may do.
	LeastFixed func(context.Context, *candidate.Option) (int, error)
}

// Size returns the number of replicas, spares included.
func (f *Fleet) Size() int { return f.Replicas + f.Spare }

// Accelerators returns the number of accelerators, including the spares'.
func (f *Fleet) Accelerators() int { return f.Option.Total(f.Size()) }

// Label names the option.
func (f *Fleet) Label() string { return f.Option.Label(&f.Trials.File.Plan.Menu) }

// law returns how large fleets were judged: nil if the chosen one was simulated whole.
func (f *Fleet) law() *answer.Law {
	if !f.ByPart(f.Option, f.Size()) {
		return nil
	}
	return &answer.Law{Replicas: f.Size(), Simulated: judge.Standing, Whole: judge.MostWhole}
}

// Base describes the base of the fleet; nil without one.
func (f *Fleet) Base() *answer.Base {
	o := f.Option
	if o.Standing == nil {
		return nil
	}
	return &answer.Base{Replicas: o.Based(), Terms: o.BaseTerms(&f.Trials.File.Plan.Menu),
		Hourly: float64(o.Base) * o.Standing.Price}
}

// pooled returns the scenario of a fleet with a base in two pools, which differ in their price.
func pooled(o *candidate.Option, s scenarios.Scenario, n int) scenarios.Scenario {
	if o.Standing == nil {
		return s
	}
	stays := s.Hardware
	stays.Price = o.Standing.Asked().Hardware.Price
	s.Replicas = 0
	s.Fleet.Pools = []scenarios.Pool{
		{Name: asked.Spot, Replicas: n - o.Based(), Hardware: s.Hardware},
		{Name: o.Standing.Offer.RentedOn(), Replicas: o.Based(), Hardware: stays}}
	return s
}

// evenOdds is the chance from which on a fleet is likely to keep the SLO.
const evenOdds = 0.5

// likely finds the least number of replicas of the chosen option that keep the SLO at even odds: in
// steps that double from the chosen number down where both latencies are as late as in half of the
// cases, and from there up until the chance of the two together is even and known well enough to
// act on. It returns nil where that is the chosen number, and for fleets that start and stop
// replicas, or lose them.
func (f *Fleet) likely(ctx context.Context) (*answer.CheaperFleet, error) {
	o, n := f.Option, f.Replicas
	if o.IsSpot() || o.Scaled() || f.Goal().Find == asked.FindThroughput ||
		f.Trials.File.Plan.FirstAnswer() {
		return nil, nil
	}
	near := f.Step(o, n)
	l := judge.Least{First: max(1, n-near), Most: n - 1, High: n, Step: 2 * near, Near: near}
	least, err := l.Find(func(n int) (bool, error) {
		ok, _, err := f.Keeps(ctx, o, n, o.Physics.Worst(evenOdds), f.Few())
		return ok, err
	})
	for k := least; err == nil && k < n; k += near {
		var c answer.Chance
		c, err = f.chanceOf(ctx, k)
		if err != nil || c.Probability < evenOdds || !c.Decides() {
			continue // an error ends the loop
		}
		if f.asSure(&c) {
			return nil, nil
		}
		return f.cheaper(o, &c), nil
	}
	return nil, err
}

// asSure reports whether a chance is what the plan asks for, as the answer's is. It goes by the
// simulations: no other chance of servers that were not measured is as high, whatever the fleet.
func (f *Fleet) asSure(c *answer.Chance) bool {
	return c.Simulated >= f.Trials.File.Plan.Effort.Confidence
}

// cheaper is a fleet that costs less than f.
func (f *Fleet) cheaper(o *candidate.Option, c *answer.Chance) *answer.CheaperFleet {
	n := c.Replicas + f.Spare
	return &answer.CheaperFleet{Replicas: n, Hourly: o.Cost(n), Less: f.Hourly - o.Cost(n),
		Probability: c.Probability}
}

// mostSteps bounds how many numbers of replicas are tried beyond the least that may do.
const mostSteps = 8

// fixedInstead returns the least fixed number of the replicas of an option that keeps the SLO,
// spares left out; 0 where no step up to mostSteps does.
func (f *Fleet) fixedInstead(ctx context.Context, o *candidate.Option) (int, error) {
	n, err := f.LeastFixed(ctx, o)
	if err != nil || n == 0 {
		return 0, err
	}
	fixed := o.Unscaled()
	for range mostSteps {
		ok, _, err := f.Keeps(ctx, fixed, n, o.Worst(), f.Seeds)
		if err != nil || ok {
			return n, err
		}
		if n++; !o.Available(n + f.Spare) {
			break
		}
	}
	return 0, nil
}

// scaledFleet describes the chosen fleet, given what its simulation shows; nil where all replicas
// run always.
func (f *Fleet) scaledFleet(full *judge.Trial) *answer.ScaledFleet {
	o := f.Option
	if !o.Scaled() {
		return nil
	}
	d := &answer.ScaledFleet{Policy: f.Trials.File.Plan.Menu.ScalingWords(o.Scaling.Index),
		Fewest: o.Scaling.Always + f.Spare, Mean: f.Running}
	for k, server := range o.Servers() {
		d.Accelerators += float64(full.Running[k] * float64(server.GPUs))
	}
	d.Accelerators *= d.Mean / o.Paid(full.Running) // of all seeds
	return d
}

// The length of the simulation in which the chosen fleet loses replicas at random: the number of
// interruptions, unless they are so rare that they take more requests.
const (
	wantedInterruptions = 20
	mostInterrupted     = 200_000
)

// outages draws when the first n replicas or groups of a fleet are preempted within a time, in
// seconds. All replicas of a group are preempted together.
func outages(o *candidate.Option, n int, within float64, seed uint64) []scenarios.Outage {
	p, _ := o.Interrupted()
	var list []scenarios.Outage
	for group, outages := range p.Draw(n, within, seed) {
		for _, a := range outages {
			for _, replica := range members(o, group, n) {
				list = append(list, scenarios.Outage{Replica: replica, At: span(a.From),
					For: span(max(a.To-a.From, 0.001))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b scenarios.Outage) int { return cmp.Compare(a.At, b.At) })
	return list
}

func span(seconds float64) scenarios.Span { return scenarios.Span(sim.Seconds(seconds)) }

// members returns the replicas of one of n groups, counted through all pools.
func members(o *candidate.Option, group, n int) []int {
	if o.Decode == nil {
		return []int{group}
	}
	var list []int
	prefills, decodes := int(o.Prefills), int(o.Decodes)
	for k := range prefills {
		list = append(list, group*prefills+k)
	}
	for k := range decodes {
		list = append(list, n*prefills+group*decodes+k)
	}
	return list
}

// Interrupt simulates the chosen fleet with replicas that are preempted at random; nil where they
// are not, where the load is not steady, or where a part of the fleet is simulated in its place:
// the smaller a fleet, the more the preempted share of it varies.
func (f *Fleet) Interrupt(ctx context.Context) (*answer.Interrupted, error) {
	o, n := f.Option, f.Size()
	p, is := o.Interrupted()
	if !is || f.Rate == 0 || f.ByPart(o, n) {
		return nil, nil
	}
	plan := &f.Trials.File.Plan
	spot := n - o.Based()
	seconds := wantedInterruptions / (float64(spot) * p.Rate)
	requests := int64(math.Ceil(min(mostInterrupted, seconds*f.Rate)))
	requests = max(requests, plan.Together(f.Rate, n))
	seconds = float64(requests) / f.Rate
	scenario := o.Scenario(&plan.Menu, n, 1)
	scenario.Fleet.Outages = outages(o, spot, seconds, plan.Seed)
	scenario.Fleet.Retries = 3
	i := &answer.Interrupted{Hours: seconds / 3600,
		Interruptions: len(scenario.Fleet.Outages) / len(members(o, 0, n))}
	if i.Interruptions == 0 {
		return nil, nil
	}
	t, err := f.Trials.Trial(ctx, scenario, f.Rate, requests)
	if err != nil {
		return nil, err
	}
	i.Kept = t.All
	return i, nil
}
