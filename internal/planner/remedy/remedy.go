// Package remedy tries what might help a system that misses its SLO or is overloaded: each change
// by a short simulation, beside one of the same length without it.
package remedy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// mostRequests bounds the simulations.
const mostRequests = 1500

// Try adds to a result's diagnosis what would help, where the SLO is missed or the system
// overloaded. Load reads its scenario anew. Fleets of several pools are left alone.
func Try(ctx context.Context, load func() (*scenarios.File, error), r *scenarios.Result) error {
	if r.Completed == 0 || r.SLOMet && r.Diagnosis.Load != scenarios.Overloaded ||
		len(r.Pools) > 0 {
		return nil
	}
	before, built, err := run(ctx, load, func(*scenarios.Scenario) {})
	if err != nil {
		return err
	}
	for _, c := range candidates(built, r) {
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
		r.Diagnosis.Remedies = append(r.Diagnosis.Remedies, scenarios.Remedy{
			Change: c.words, Set: []string{c.set}, Load: after.Diagnosis.Load,
			Kept:  [2]float64{before.Attainment.All, after.Attainment.All},
			TTFT:  [2]float64{before.P99TTFT, after.P99TTFT},
			TPOT:  [2]float64{before.P99TPOT, after.P99TPOT},
			Price: float64(after.Accelerators) / float64(before.Accelerators),
		})
	}
	slices.SortStableFunc(r.Diagnosis.Remedies, func(a, b scenarios.Remedy) int {
		return cmp.Compare(b.Kept[1], a.Kept[1])
	})
	return nil
}

// run simulates a changed scenario, and returns it with its defaults filled in.
func run(ctx context.Context, load func() (*scenarios.File, error),
	change func(*scenarios.Scenario)) (*scenarios.Result, *scenarios.Scenario, error) {
	f, err := load()
	if err != nil {
		return nil, nil, err
	}
	change(&f.Scenario)
	if w := &f.Scenario.Workload; w.Requests == 0 || w.Requests > mostRequests {
		w.Requests = mostRequests
	}
	simulation, err := f.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	r, err := simulation.Run(ctx)
	return r, &simulation.Scenario, err
}

// candidate is a change that may help.
type candidate struct {
	words, set string
	apply      func(*scenarios.Scenario)
}

// much is how many times smaller or larger a parameter is tried.
const much = 4

// candidates lists the changes to a scenario that may help: a larger batch where the batch was
// full, another share of a step for prompts, and one more replica.
func candidates(s *scenarios.Scenario, r *scenarios.Result) []candidate {
	var list []candidate
	if most := parameter(s, "max-sequences"); most > 0 && r.PeakBatch >= most {
		list = append(list, batching(s, "max-sequences", much*most,
			fmt.Sprintf("a batch of up to %d sequences in place of %d", much*most, most)))
	}
	if budget := parameter(s, "token-budget"); budget > 0 {
		for _, n := range []int{budget / much, much * budget} {
			list = append(list,
				batching(s, "token-budget", max(1, n),
					fmt.Sprintf("a chunk budget of %d tokens a step in place of %d", n, budget)))
		}
	}
	n := max(1, s.Replicas) + 1
	words := "a second replica"
	if n > 2 {
		words = fmt.Sprintf("%d replicas in place of %d", n, n-1)
	}
	return append(list, candidate{words, fmt.Sprintf("replicas=%d", n),
		func(s *scenarios.Scenario) { s.Replicas = n }})
}

// parameter returns a parameter of the batching policy; 0 where it has none of that name.
func parameter(s *scenarios.Scenario, name string) int {
	n, err := strconv.Atoi(s.Batching.Params[name])
	if err != nil {
		return 0
	}
	return n
}

// batching returns the change of one parameter of the batching policy.
func batching(s *scenarios.Scenario, name string, value int, words string) candidate {
	params := maps.Clone(s.Batching.Params)
	params[name] = strconv.Itoa(value)
	policy := scenarios.Policy{Policy: s.Batching.Policy, Params: params}
	return candidate{words, fmt.Sprintf("batching.%s=%d", name, value),
		func(s *scenarios.Scenario) { s.Batching = policy }}
}
