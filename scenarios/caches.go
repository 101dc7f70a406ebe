package scenarios

import (
	"context"

	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// fill gives the caches of a simulation what they hold at the start: a snapshot, if there is one,
// or what the first requests leave in a simulation with cold caches, which build makes.
func (r *resolved) fill(s *Simulation, kept *snapshot, build func() (*Simulation, error)) error {
	c := r.file.Scenario.Caches
	if c == nil || c.Start == "cold" {
		return nil
	}
	for i := range s.pools {
		p := &s.pools[i]
		m := s.config.Replicas[p.first].Memory
		if memory.Cache(m) == nil && (c.Start != "warm" || memory.HybridCache(m) == nil) {
			r.problem("caches.start", "found %s; with the memory policy %s of %s caches are "+
				"cold at the start; use prefix-cache, radix or offload (or hybrid, with warm)",
				c.Start, p.Policies.Memory.Name(), p.Model.Name)
			return r.err()
		}
	}
	if kept != nil {
		if err := s.restore(kept); err != nil {
			r.problem("caches.file", "%s: %v", c.File, err)
		}
		return r.err()
	}
	if (c.Requests > 0) == (c.Share > 0) {
		r.problem("caches", "found warm with %d requests and a share of %g; want one of the two",
			c.Requests, c.Share)
		return r.err()
	}
	return r.warm(s, c, build)
}

// warm serves the first requests of a simulation by another one, from whose caches, router and
// source the simulation goes on.
func (r *resolved) warm(s *Simulation, c *Caches, build func() (*Simulation, error)) error {
	before, err := build()
	if err != nil {
		return err
	}
	if err := before.Source.Close(); err != nil {
		return err
	}
	opening := &workload.Opening{Source: s.Source}
	opening.Enough = func() bool { return opening.Sent() == c.Requests }
	if c.Share > 0 {
		opening.Enough = func() bool { return before.filled() >= c.Share }
	}
	config := before.config
	config.Source, config.SampleEvery, config.Outages, config.Announce = opening, 0, nil, 0
	if _, err := sim.Run(context.Background(), config); err != nil {
		if s.Source.Err() == nil {
			return err
		}
		r.problem("workload.trace", "%v", s.Source.Err())
		return r.err()
	}
	switch rest := opening.Rest(); {
	case !opening.Over():
		r.problem("caches", "the workload ends after %d requests, with %.3g%% of the KV memory "+
			"full; give it more, or ask for less here", opening.Sent(), 100*before.filled())
	case rest.NextArrival() == sim.Never:
		r.problem("caches", "all %d requests are served before the run; give the workload more, "+
			"or ask for less here", opening.Sent())
	default:
		s.Source, s.config.Source, s.config.Router = rest, rest, config.Router
	}
	if err := r.err(); err != nil {
		return err
	}
	kept, err := before.caches()
	if err == nil {
		err = s.restore(kept)
	}
	return err
}

// filled returns the share of the KV memory that holds something, in the mean of the replicas.
func (s *Simulation) filled() float64 {
	sum := 0.0
	for i := range s.config.Replicas {
		if m := s.config.Replicas[i].Memory; memory.Cache(m) != nil {
			sum += memory.Cache(m).Filled()
		} else {
			sum += memory.HybridCache(m).Filled()
		}
	}
	return sum / float64(len(s.config.Replicas))
}
