// Package simtest checks that policies keep the contracts of package sim. The author of a policy
// calls Check from a test.
package simtest

import (
	"context"
	"reflect"

	"github.com/llmsim/llmsim/sim"
)

// T is the part of testing.T that Check needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Policies makes the policies of one replica, anew for each replica and run. Policies that are nil
// are plain ones: requests are served first come, first served, a token of KV memory is one unit,
// and replicas take turns.
type Policies struct {
	Scheduler func() sim.Scheduler
	// Memory has room for at least 256 tokens; more than some thousand are never short.
	Memory func() sim.Memory
	Router func() sim.Router
}

// simulations is the number of random simulations that Check makes up.
const simulations = 200

// Check runs the policies in random simulations, some with several replicas, pipelines, users who
// go away and replicas that fail. It reports where
//   - leaping gives other figures than taking each step: then a Decision promises what the policy
//     does not keep, or the headroom or the growth of a memory is wrong;
//   - a request ends twice or never, a time between two tokens is not above 0, or memory is not
//     given back;
//   - a scheduler miscounts who waits, or a memory does not do what sim.Memory says.
//
// It stops at the first simulation in which something is wrong, and names its seed.
func Check(t T, p Policies) {
	t.Helper()
	p = p.orPlain()
	for seed := range uint64(simulations) {
		if problems := check(p, seed); len(problems) > 0 {
			for _, problem := range problems {
				t.Errorf("random simulation %d: %s", seed, problem)
			}
			return
		}
	}
}

func (p Policies) orPlain() Policies {
	if p.Scheduler == nil {
		p.Scheduler = func() sim.Scheduler { return &inOrder{places: 8, budget: 64} }
	}
	if p.Memory == nil {
		p.Memory = func() sim.Memory { return newTokens(256) }
	}
	if p.Router == nil {
		p.Router = func() sim.Router { return &inTurn{} }
	}
	return p
}

// check returns what is wrong in the simulation that a seed makes up.
func check(p Policies, seed uint64) []string {
	stepped, record := run(p, seed, 1)
	if len(record.problems) == 0 {
		record.conservation(stepped)
	}
	problems := record.problems
	if len(problems) > 0 {
		return problems
	}
	for _, most := range []int64{0, 7} {
		leaped, other := run(p, seed, most)
		problems = append(problems, other.problems...)
		switch {
		case len(problems) > 0:
		case !reflect.DeepEqual(stepped, leaped):
			problems = append(problems, differs("result", stepped, leaped))
		case !reflect.DeepEqual(record.ended, other.ended):
			problems = append(problems, differs("requests", record.ended, other.ended))
		case !reflect.DeepEqual(record.gaps, other.gaps):
			problems = append(problems, differs("times between tokens", record.gaps, other.gaps))
		case !reflect.DeepEqual(record.samples, other.samples):
			problems = append(problems, differs("states", record.samples, other.samples))
		}
		if len(problems) > 0 {
			break
		}
	}
	return problems
}

// run simulates what a seed makes up with leaps of the given number of steps at most. It ends with
// the first problem.
func run(p Policies, seed uint64, maxLeap int64) (result sim.Result, r *record) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r = &record{gaps: map[sim.Time]int64{}, stop: stop}
	defer func() {
		if len(r.problems) > 0 {
			recover() // a policy that broke its contract may well panic
		}
	}()
	c := draw(p, seed, r)
	c.MaxLeap, c.Observer = maxLeap, r
	result, err := sim.Run(ctx, c)
	if err != nil && ctx.Err() == nil {
		r.problem("%v", err)
	}
	return result, r
}
