package planner

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// A simulation has at most requestsFirst requests, and requestsMore for each further replica.
const (
	requestsFirst = 1500
	requestsMore  = 500
)

// TryRemedies adds the changes that would help to a result's diagnosis, if the SLO is missed or the
// system overloaded. load reads its scenario again. Changes of the keys in leaveOut, such as
// "replicas", are not tried.
func TryRemedies(ctx context.Context, load func() (*scenarios.File, error), r *scenarios.Result,
	leaveOut ...string) error {
	if r.Begun() == 0 || r.SLOMet && r.Diagnosis.Load != scenarios.Overloaded {
		return nil
	}
	before, built, err := run(ctx, load, func(*scenarios.Scenario) {})
	if err != nil {
		return err
	}
	for _, c := range candidates(built, r) {
		if key, _, _ := strings.Cut(c.set[0], "="); slices.Contains(leaveOut, key) {
			continue
		}
		after, _, err := run(ctx, load, c.apply)
		if scenarios.IsInputError(err) {
			continue // the change does not fit, such as a batch for which there is no memory
		}
		if err != nil {
			return err
		}
		if after.Latencies == before.Latencies {
			continue // it changes nothing
		}
		r.Diagnosis.Remedies = append(r.Diagnosis.Remedies, c.remedy(before, after))
	}
	slices.SortStableFunc(r.Diagnosis.Remedies, better)
	return nil
}

// better orders remedies: those under which the SLO is met first, the cheapest of them first, and
// others by the share of requests that meet the SLO.
func better(a, b scenarios.Remedy) int {
	switch {
	case a.Met && b.Met:
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(b.Kept[1], a.Kept[1]))
	case a.Met:
		return -1
	case b.Met:
		return 1
	}
	return cmp.Or(cmp.Compare(b.Kept[1], a.Kept[1]), cmp.Compare(a.Price, b.Price))
}

// remedy returns the effect of a change.
func (c *candidate) remedy(before, after *scenarios.Result) scenarios.Remedy {
	return scenarios.Remedy{
		Change: c.words, Set: c.set, Requests: before.Sent(), Met: after.SLOMet,
		Load:  after.Diagnosis.Load,
		Kept:  [2]float64{before.Attainment.All, after.Attainment.All},
		TTFT:  [2]float64{before.P99TTFT, after.P99TTFT},
		TPOT:  [2]float64{before.P99TPOT, after.P99TPOT},
		Helps: helps(before, after),
		Price: price(before, after),
	}
}

// helps reports whether a change solves the problem, or a part of it.
func helps(before, after *scenarios.Result) bool {
	if before.Diagnosis.Load == scenarios.Overloaded {
		return after.Diagnosis.Load != scenarios.Overloaded
	}
	return after.SLOMet && !before.SLOMet ||
		after.Attainment.All >= before.Attainment.All+worthwhile
}

// worthwhile is the least increase of the share of requests that meet the SLO that counts as help.
const worthwhile = 0.01

// price returns the price of an hour after the change, divided by that before; 0 if an accelerator
// has no price.
func price(before, after *scenarios.Result) float64 {
	if before.Cost == 0 || after.Cost == 0 {
		return 0
	}
	ratio := after.Cost / after.Duration / (before.Cost / before.Duration)
	return math.Round(ratio*1e9) / 1e9 // without the last bits, so that equal prices have ratio 1
}

// run simulates a changed scenario, and returns it with its defaults filled in.
func run(ctx context.Context, load func() (*scenarios.File, error),
	change func(*scenarios.Scenario)) (*scenarios.Result, *scenarios.Scenario, error) {
	f, err := load()
	if err != nil {
		return nil, nil, err
	}
	most := int64(requestsFirst + requestsMore*(replicas(&f.Scenario)-1))
	change(&f.Scenario)
	if w := &f.Scenario.Workload; w.Requests == 0 || w.Requests > most {
		w.Requests = most
	}
	simulation, err := f.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	r, err := simulation.Run(ctx)
	return r, &simulation.Scenario, err
}

// replicas counts the replicas of a scenario.
func replicas(s *scenarios.Scenario) int {
	n := 0
	for i := range s.Fleet.Pools {
		n += s.Fleet.Pools[i].Replicas
	}
	return max(1, n, s.Replicas)
}
