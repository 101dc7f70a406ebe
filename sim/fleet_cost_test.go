package sim_test

import (
	"runtime"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// work counts what a run does.
type work struct {
	sim.NopObserver
	leaps, looks, allocations int64
}

func (w *work) Steps(*sim.Leap) { w.leaps++ }

// fleetWork returns what a run of a fleet of that many replicas, with equal loads, takes.
func fleetWork(t *testing.T, p *policies.Policy[sim.Router], replicas, requests int) work {
	c := benchmarkConfig(t, int64(requests), 20*float64(replicas), replicas, 28000, 25)
	router, err := p.Build(policies.Deployment{Seed: 1}, nil)
	testkit.OK(t, err)
	var w work
	c.Router, c.Observer = router, &w
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := sim.New(c)
	testkit.OK(t, err)
	if err := s.Advance(sim.Never); err != nil || s.Result().Completed != int64(requests) {
		t.Fatal(s.Result().Completed, err)
	}
	runtime.ReadMemStats(&after)
	w.looks = s.Looks()
	w.allocations = int64(after.Mallocs - before.Mallocs)
	return w
}

// What a request takes does not grow with the fleet, whatever routes it: as many leaps, a few
// replicas looked at, and no allocation beyond what makes room for the most that a replica has.
// Routers whose published formulas compare all replicas look at each of them a few times.
func TestRequestsOfLargeFleetsTakeNoMoreWork(t *testing.T) {
	routers := policies.Default().Routing.Policies
	comparesAll := map[string]bool{"gateway-api": true, "llm-d": true, "dynamo": true}
	few, many := 4000, 6000
	if testing.Short() {
		few, many, routers = 1000, 1500, testkit.DrawCases(t, 5, routers)
	}
	for i := range routers {
		p := &routers[i]
		alone := fleetWork(t, p, 1, few)
		for _, replicas := range []int{64, 1000} {
			w, more := fleetWork(t, p, replicas, few), fleetWork(t, p, replicas, many)
			if w.leaps > alone.leaps*5/4 {
				t.Errorf("%s, %d replicas: %d leaps, and %d with one replica", p.Name, replicas,
					w.leaps, alone.leaps)
			}
			if all := w.looks / int64(replicas); w.looks > 3*int64(few) &&
				!(comparesAll[p.Name] && all <= 3*int64(few)) {
				t.Errorf("%s, %d replicas: looks at replicas %d times for %d requests", p.Name,
					replicas, w.looks, few)
			}
			if n := more.allocations - w.allocations; n > int64(5*replicas) {
				t.Errorf("%s, %d replicas: %d allocations for %d more requests", p.Name, replicas,
					n, many-few)
			}
		}
	}
}
