package planner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// The first requests of a load are tried: requestsFirst, and requestsMore for each further replica.
const (
	requestsFirst = 1500
	requestsMore  = 500
)

// mostWhole is the most requests of a load that is tried as a whole, because its first requests do
// not show its fault. For each change, simulating 100,000 requests takes about a second.
const mostWhole = 100_000

// TryRemedies adds the changes that would help to a result's diagnosis, if the SLO is missed or the
// system overloaded. load reads its scenario again. Changes of the keys in leaveOut, such as
// "replicas", are not tried.
func TryRemedies(ctx context.Context, load func() (*scenarios.File, error), r *scenarios.Result,
	leaveOut ...string) error {
	if r.Begun() == 0 || r.SLOMet && r.Diagnosis.Load != scenarios.Overloaded {
		return nil
	}
	before, built, err := run(ctx, load, false, func(*scenarios.Scenario) {})
	if err != nil {
		return err
	}
	whole := r.Begun() <= mostWhole && (built.Unsteady() != "" || !showsFault(before, r))
	if whole {
		before = r
	} else if !showsFault(before, r) {
		return nil // what changes do to these requests says nothing of the fault
	}
	for _, c := range candidates(built, r) {
		if key, _, _ := strings.Cut(c.set[0], "="); slices.Contains(leaveOut, key) {
			continue
		}
		after, _, err := run(ctx, load, whole, c.apply)
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

// showsFault reports whether a run of the first requests of a load misses the SLO, or is
// overloaded, where the whole load is.
func showsFault(first, whole *scenarios.Result) bool {
	return (whole.SLOMet || !first.SLOMet) && (whole.Diagnosis.Load != scenarios.Overloaded ||
		first.Diagnosis.Load == scenarios.Overloaded)
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

// run simulates the whole load or the first requests of a changed scenario, and returns it with its
// defaults filled in.
func run(ctx context.Context, load func() (*scenarios.File, error), whole bool,
	change func(*scenarios.Scenario)) (*scenarios.Result, *scenarios.Scenario, error) {
	f, err := load()
	if err != nil {
		return nil, nil, err
	}
	most := int64(requestsFirst + requestsMore*(replicas(&f.Scenario)-1))
	change(&f.Scenario)
	if w := &f.Scenario.Workload; !whole && (w.Requests == 0 || w.Requests > most) {
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

// candidate is a change that may help.
type candidate struct {
	words string
	set   []string // the overrides that make it
	apply func(*scenarios.Scenario)
}

// much is how many times smaller or larger a parameter is tried.
const much = 4

// candidates lists the changes to a scenario that may help: for each pool a larger batch where the
// batch was full, another share of a step for prompts, and more replicas; and more of all pools
// where the system is overloaded.
func candidates(s *scenarios.Scenario, r *scenarios.Result) []candidate {
	var list []candidate
	all := candidate{words: "more replicas of each pool", apply: func(*scenarios.Scenario) {}}
	pools := poolsOf(s)
	for _, p := range pools {
		list = append(list, p.batches(s, r)...)
		more := p.larger(s, 1)
		list = append(list, more)
		if r.Diagnosis.Load == scenarios.Overloaded {
			enough := p.larger(s, p.missing(s, r))
			if enough.words != more.words {
				list = append(list, enough)
			}
			all.set = append(all.set, enough.set...)
			before := all.apply
			all.apply = func(s *scenarios.Scenario) { before(s); enough.apply(s) }
		}
	}
	if len(all.set) > 1 {
		list = append(list, all)
	}
	return list
}

// pool is replicas of a scenario that are alike.
type pool struct {
	// key is the beginning of the names of its overrides, and index its place in fleet.pools; -1
	// where the scenario has no pools.
	key   string
	index int
	// of says which pool a change is of; empty where there is one.
	of string
	// prompts and answers tell what it computes.
	prompts, answers bool
}

// poolsOf lists the pools of a scenario whose defaults are filled in.
func poolsOf(s *scenarios.Scenario) []pool {
	if len(s.Fleet.Pools) == 0 {
		return []pool{{index: -1, prompts: true, answers: true}}
	}
	var list []pool
	for i := range s.Fleet.Pools {
		p := &s.Fleet.Pools[i]
		list = append(list, pool{
			key: fmt.Sprintf("fleet.pools.%d.", i), index: i, of: " in pool " + p.Name,
			prompts: p.Role != "decode", answers: p.Role != "prefill",
		})
	}
	return list
}

// batching returns the pool's batching policy, as it is written or to be written.
func (p *pool) batching(s *scenarios.Scenario) *scenarios.Policy {
	if p.index < 0 {
		return &s.Batching
	}
	return &s.Fleet.Pools[p.index].Batching
}

// replicas returns the number of the pool's replicas, as it is written or to be written.
func (p *pool) replicas(s *scenarios.Scenario) *int {
	if p.index < 0 {
		return &s.Replicas
	}
	return &s.Fleet.Pools[p.index].Replicas
}

// batches lists the changes of the pool's batching policy.
func (p *pool) batches(s *scenarios.Scenario, r *scenarios.Result) []candidate {
	var list []candidate
	policy := *p.batching(s)
	if policy.Policy == "" {
		policy = s.Batching // which the pool shares
	}
	name, most := policy.Number(policies.Sequences)
	if p.answers && most > 0 && r.PeakBatch >= most {
		list = append(list, p.batch(policy, name, much*most,
			fmt.Sprintf("a batch of up to %d sequences in place of %d", much*most, most)))
	}
	if name, budget := policy.Number(policies.Tokens); p.prompts && budget > 0 {
		for _, n := range []int{max(1, budget/much), much * budget} {
			list = append(list, p.batch(policy, name, n,
				fmt.Sprintf("a chunk budget of %d tokens a step in place of %d", n, budget)))
		}
	}
	return list
}

// batch returns the change of one parameter of the pool's batching policy. A pool without one of
// its own has to name the policy too.
func (p *pool) batch(policy scenarios.Policy, name string, value int, words string) candidate {
	params := maps.Clone(policy.Params)
	params[name] = strconv.Itoa(value)
	changed := scenarios.Policy{Policy: policy.Policy, Params: params}
	set := fmt.Sprintf("%sbatching.%s=%d", p.key, name, value)
	if p.index >= 0 {
		words := "policy: " + policy.Policy
		for _, key := range slices.Sorted(maps.Keys(params)) {
			words += fmt.Sprintf(", %s: %s", key, params[key])
		}
		set = fmt.Sprintf("%sbatching={%s}", p.key, words)
	}
	return candidate{words + p.of, []string{set},
		func(s *scenarios.Scenario) { *p.batching(s) = changed }}
}

// larger returns the change to the given number of more replicas.
func (p *pool) larger(s *scenarios.Scenario, more int) candidate {
	was := max(1, *p.replicas(s))
	n := was + more
	words := "a second replica"
	if n > 2 {
		words = fmt.Sprintf("%d replicas in place of %d", n, was)
	}
	return candidate{words + p.of, []string{fmt.Sprintf("%sreplicas=%d", p.key, n)},
		func(s *scenarios.Scenario) { *p.replicas(s) = n }}
}

// mostTimes is the largest factor by which replicas are multiplied.
const mostTimes = 16

// missing returns how many more replicas of an overloaded system would serve what arrives, if each
// served as much as it does now.
func (p *pool) missing(s *scenarios.Scenario, r *scenarios.Result) int {
	times := float64(mostTimes)
	if served := r.Diagnosis.Served; served > 0 {
		times = min(times, r.OfferedRate/served)
	}
	n := float64(max(1, *p.replicas(s)))
	return max(1, int(math.Ceil(n*times-1e-9)-n))
}
