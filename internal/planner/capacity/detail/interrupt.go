package detail

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// The length of the simulation in which the chosen fleet loses replicas at random: the number of
// interruptions, unless they are so rare that they take more requests.
const (
	wantedInterruptions = 20
	mostInterrupted     = 200_000
)

// outages draws when n replicas or groups of a fleet, the first of it, are taken away within a
// time, in seconds. Replica k of a group of size in pools that follow each other goes with the
// others of its group.
func outages(o *candidate.Option, n int, within float64, seed uint64) []scenarios.Outage {
	p, _ := o.Interrupted()
	var list []scenarios.Outage
	for group, absences := range p.Draw(n, within, seed) {
		for _, a := range absences {
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

// Interrupt simulates the chosen fleet with replicas that are taken away at random; nil where they
// are not, where the load is not steady, or where a part of the fleet is simulated in its place:
// the smaller a fleet, the more the share of it that is away varies.
func (f *Fleet) Interrupt(ctx context.Context) (*answer.Interrupted, error) {
	o, n := f.Option, f.Size()
	p, taken := o.Interrupted()
	if !taken || f.Rate == 0 || f.ByPart(o, n) {
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
