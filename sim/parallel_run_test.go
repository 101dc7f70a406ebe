package sim_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// executors are ways to run the tasks of Config.Apart.
var executors = map[string]func(n int, task func(int)){
	"in order": func(n int, task func(int)) {
		for i := range n {
			task(i)
		}
	},
	"backwards": func(n int, task func(int)) {
		for i := range n {
			task(n - 1 - i)
		}
	},
	"at the same time": func(n int, task func(int)) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { task(i) })
		}
		all.Wait()
	},
}

// blind is a router of which one request in some is not routed blindly.
type blind struct {
	routing.RoundRobin
	sighted int64 // from this request on; below 0 for never
}

func (b *blind) Blind(r *sim.Request) bool { return b.sighted < 0 || r.ID < b.sighted }

func (b *blind) Route(r *sim.Request, p *sim.Pool) int {
	if b.Blind(r) {
		return b.RoundRobin.Route(r, p)
	}
	return p.LeastTokens()
}

// drawApart draws a fleet whose replicas do not depend on each other.
func drawApart(t *rapid.T) fleetSetting {
	c := drawFleet(t)
	c.links, c.outages, c.scaled, c.users, c.pool = nil, nil, false, 0, 0
	c.queueTimeout, c.encoders = 0, 0
	for i := range c.pools {
		c.pools[i].role, c.off[i], c.steady[i] = sim.Mixed, false, false
	}
	patient := rapid.IntRange(0, 2*len(c.requests)).Draw(t, "patient")
	for i := range c.requests[:min(patient, len(c.requests))] {
		c.requests[i].Patience = 0
	}
	for _, k := range c.kinds {
		k.pool = 0
	}
	return c
}

// Replicas that run apart give what they give together, to the last bit and in the same order,
// whatever runs them, also where requests turn up that let them depend on each other.
func TestApartEqualsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawApart(t)
		drafts := rapid.IntRange(0, 2).Draw(t, "drafts") > 0
		speculator := drawSpeculator(t, c.kinds[0].clock)
		sighted := rapid.Int64Range(-20, 20).Draw(t, "sighted")
		run := func(executor func(n int, task func(int)), groups int) (sim.Result, *ends) {
			config, all := c.config(t, 0)
			config.Router = &blind{sighted: sighted}
			config.Apart = executor
			for i := range config.Replicas {
				config.Replicas[i].Group = i % groups
				if drafts && config.Replicas[i].Stages < 2 {
					config.Replicas[i].Speculator = speculator(uint64(i))
				}
			}
			r, err := sim.Run(context.Background(), config)
			testkit.OK(t, err)
			return r, all
		}
		together, want := run(nil, 1)
		for name, executor := range executors {
			groups := rapid.IntRange(1, c.replicas).Draw(t, "groups")
			apart, got := run(executor, groups)
			compareEnds(t, name, together, apart, want, got)
		}
	})
}

// compareEnds compares what came of replicas that ran together and apart.
func compareEnds(t *rapid.T, executor string, together, apart sim.Result, want, got *ends) {
	if d := cmp.Diff(together, apart); d != "" {
		t.Fatalf("result, together (-) and apart, %s (+):\n%s", executor, d)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(journal{}, ends{}, end{}),
		cmp.Comparer(func(a, b []sim.Memory) bool { return true })); d != "" {
		t.Fatalf("journal, together (-) and apart, %s (+):\n%s", executor, d)
	}
}

// lying is a source that says that Done changes nothing, and sends a copy of each request after it
// has ended.
type lying struct {
	listSource
	after sim.Time
}

const copied = 1000 // the priority of a copy

func (l *lying) Done(r *sim.Request, at sim.Time) {
	if r.Priority == copied {
		return
	}
	again := *r
	again.Arrival, again.Priority, again.Content = at+l.after, copied, slices.Clone(r.Content)
	k := 0
	for k < len(l.requests) && l.requests[k].Arrival <= again.Arrival {
		k++
	}
	l.requests = slices.Insert(l.requests, k, again)
}

// A request that a source makes known by Done may come too late where replicas run apart. Then the
// run ends with an error that names the source; otherwise it gives what replicas give together.
func TestApartRefusesRequestsAfterDone(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawApart(t)
		after := sim.Time(rapid.Int64Range(0, 1000).Draw(t, "after"))
		run := func(executor func(n int, task func(int))) (sim.Result, *ends, error) {
			config, all := c.config(t, 0)
			config.Source = &lying{listSource: listSource{requests: slices.Clone(c.requests)},
				after: after}
			config.Router, config.Apart = &blind{sighted: -1}, executor
			r, err := sim.Run(context.Background(), config)
			return r, all, err
		}
		together, want, err := run(nil)
		testkit.OK(t, err)
		apart, got, err := run(executors["in order"])
		if err != nil {
			if refused++; !strings.Contains(err.Error(), "source *sim_test.lying says by Open") {
				t.Fatalf("got %v, want an error that names the source", err)
			}
			return
		}
		compareEnds(t, "in order", together, apart, want, got)
	})
	if refused == 0 {
		t.Error("no run was refused")
	}
}
