package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
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

// kvFormat returns the number format of the KV caches of a pool.
func (p *pool) kvFormat() string { return cmp.Or(string(p.KV), string(hardware.BF16)) }

// maxSnapshot is the largest file of KV caches in bytes, and maxRuns the largest number of runs
// that lead to one.
const (
	maxSnapshot = 1 << 29
	maxRuns     = 1 << 16
)

// snapshot has the contents of KV caches at the end of a run.
type snapshot struct {
	// Caches has the version of the format.
	Caches   int          `json:"llmsim_caches"`
	Replicas []cacheState `json:"replicas"`
	Pools    []cacheState `json:"pools,omitempty"`
}

// cacheState has a model's contents in the cache of a replica, or in a pool.
type cacheState struct {
	Model string `json:"model"`
	// KV is the number format.
	KV string `json:"kv"`
	*memory.Contents
	// hybrid is a memory without Contents. It goes from one simulation to the next, not to files.
	hybrid *memory.Hybrid
}

// SaveCaches writes what the KV caches hold after Run, for a run that starts with it.
func (s *Simulation) SaveCaches(to io.Writer) error {
	for i := range s.pools {
		if p := &s.pools[i]; memory.Cache(s.config.Replicas[p.first].Memory) == nil {
			return fmt.Errorf("--save-caches: memory: found the policy %s for %s, whose caches no "+
				"file has a place for, allowed: prefix-cache, radix and offload",
				p.Policies.Memory.Name(), p.Model.Name)
		}
	}
	kept, err := s.caches()
	if err != nil {
		return err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if len(text) >= maxSnapshot {
		return fmt.Errorf("the caches take %d bytes, and files of at most %d are read", len(text),
			maxSnapshot)
	}
	_, err = to.Write(append(files.ObjectSeal().Add(text), '\n'))
	return err
}

// caches returns what all caches hold.
func (s *Simulation) caches() (*snapshot, error) {
	all := &snapshot{Caches: 2}
	for i := range s.pools {
		p := &s.pools[i]
		for k := range p.size {
			state := cacheState{Model: p.Model.Name, KV: p.kvFormat()}
			m := s.config.Replicas[p.first+k].Memory
			if state.hybrid = memory.HybridCache(m); state.hybrid == nil {
				c, err := memory.Cache(m).Contents()
				if err != nil {
					return nil, err
				}
				state.Contents = c
			}
			all.Replicas = append(all.Replicas, state)
		}
	}
	for _, shared := range s.shared {
		c, err := shared.memory.Contents()
		if err != nil {
			return nil, err
		}
		all.Pools = append(all.Pools, cacheState{Model: s.Models()[shared.model], Contents: c})
	}
	return all, nil
}

// restore gives the caches what all caches held in a simulation of the same fleet. Replicas that
// are off at the start stay empty.
func (s *Simulation) restore(all *snapshot) error {
	if got, want := len(all.Replicas), len(s.config.Replicas); got != want {
		return fmt.Errorf("found the caches of %d replicas, want those of %d", got, want)
	}
	if got, want := len(all.Pools), len(s.shared); got != want {
		return fmt.Errorf("found %d pools, want %d", got, want)
	}
	for i := range s.pools {
		p := &s.pools[i]
		for k := p.first; k < p.first+p.size; k++ {
			c := &all.Replicas[k]
			if c.Model != p.Model.Name || c.KV != p.kvFormat() ||
				c.Contents == nil && c.hybrid == nil {
				return fmt.Errorf("replica %d: found a cache of %s in %s, want one of %s in %s",
					k+1, c.Model, c.KV, p.Model.Name, p.kvFormat())
			}
			if s.config.Replicas[k].Off {
				continue
			}
			var err error
			if m := s.config.Replicas[k].Memory; c.hybrid != nil {
				err = memory.HybridCache(m).Continue(c.hybrid)
			} else {
				err = memory.Cache(m).Restore(c.Contents)
			}
			if err != nil {
				return fmt.Errorf("replica %d: %w", k+1, err)
			}
		}
	}
	for i, shared := range s.shared {
		c := &all.Pools[i]
		if c.Model != s.Models()[shared.model] || c.Contents == nil {
			return fmt.Errorf("pool %d: found KV of %s, want %s", i+1, c.Model,
				s.Models()[shared.model])
		}
		if err := shared.memory.Restore(c.Contents); err != nil {
			return fmt.Errorf("pool %d: %w", i+1, err)
		}
	}
	return nil
}

// runs returns the number of runs of the simulator that led to a snapshot.
func (s *snapshot) runs() (most uint64) {
	for i := range s.Replicas {
		if c := s.Replicas[i].Contents; c != nil {
			most = max(most, c.Runs)
		}
	}
	return most
}

// snapshot reads the file of KV caches that the scenario names; nil if it names no file.
func (r *resolved) snapshot() *snapshot {
	c := r.file.Scenario.Caches
	if c == nil || c.Start != "snapshot" {
		return nil
	}
	all, err := readSnapshot(r.file.files(), r.file.locate("caches.file", c.File))
	if err != nil {
		r.problem("caches.file", "%v", err)
	}
	return all
}

func readSnapshot(system fs.FS, path string) (*snapshot, error) {
	data, err := files.Read(system, path, maxSnapshot)
	if err != nil {
		return nil, plainPathError(err)
	}
	data, err = files.ObjectSeal().Open(bytes.TrimSuffix(data, []byte("\n")))
	if err != nil {
		return nil, fmt.Errorf("%s: found no file of --save-caches: %w", path, err)
	}
	all := new(snapshot)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(all); err != nil {
		return nil, fmt.Errorf("%s: found no file of --save-caches: %w", path, err)
	}
	if all.Caches != 2 || all.runs() > maxRuns {
		return nil, fmt.Errorf("%s: found version %d of the format after %d runs, want 2 after at "+
			"most %d", path, all.Caches, all.runs(), maxRuns)
	}
	return all, nil
}
