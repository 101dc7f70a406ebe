package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

func (c *Config) check() error {
	switch {
	case c.Router == nil:
		return errors.New("sim: no router")
	case len(c.Replicas) == 0:
		return errors.New("sim: no replicas")
	case c.Classes < 0 || c.Tenants < 0:
		return fmt.Errorf("sim: %d classes and %d tenants, want 0 or more", c.Classes, c.Tenants)
	case c.SampleEvery < 0:
		return fmt.Errorf("sim: SampleEvery is %v, want 0 or more", c.SampleEvery)
	case c.Announce < 0 || c.Announce == Never:
		return fmt.Errorf("sim: Announce is %v, want a span from 0", c.Announce)
	case c.Encoders != nil && (c.Encoders.Number < 1 || c.Encoders.Work == nil):
		return fmt.Errorf("sim: %d encoders, want 1 or more with their work", c.Encoders.Number)
	case c.MaxLeap < 0:
		return fmt.Errorf("sim: MaxLeap is %d, want 0 or more", c.MaxLeap)
	}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		switch {
		case r.Scheduler == nil || r.Memory == nil || r.Clock == nil:
			return fmt.Errorf("sim: replica %d lacks a scheduler, a memory or a clock", i)
		case r.Stages < 0:
			return fmt.Errorf("sim: replica %d has %d pipeline stages, want 1 or more", i, r.Stages)
		case r.Lookahead < 0 || r.Lookahead > 1:
			return fmt.Errorf("sim: replica %d looks %d steps ahead, want 0 or 1", i, r.Lookahead)
		case r.Speculator != nil && r.Stages > 1:
			return fmt.Errorf("sim: replica %d drafts tokens and has %d pipeline stages, want 1",
				i, r.Stages)
		case r.Host.Tokens < 0 || !r.Host.Time.valid():
			return fmt.Errorf("sim: replica %d has host memory for %d tokens, %v each, want 0 or "+
				"more",
				i, r.Host.Tokens, r.Host.Time.Token)
		case !(r.FirstChunk >= 0) || r.FirstChunk > maxFirstChunk:
			return fmt.Errorf("sim: replica %d sends %g tokens first, want 0 to %d", i,
				r.FirstChunk, maxFirstChunk)
		case r.Pooling.Memory != nil && !(c.wired(r.Pooling.Reads) && c.wired(r.Pooling.Writes)):
			return fmt.Errorf("sim: replica %d reaches its pool over the wires %v and %v, want "+
				"one or more of %d with a bandwidth above 0, none twice", i, r.Pooling.Reads,
				r.Pooling.Writes, len(c.Wires))
		case r.Disk.Memory != nil && !c.wired(r.Disk.Reads):
			return fmt.Errorf("sim: replica %d reads its disk over the wires %v, want one or more "+
				"of %d with a bandwidth above 0, none twice", i, r.Disk.Reads, len(c.Wires))
		case slices.ContainsFunc(r.RoundTrips, func(t Time) bool { return t < 0 || t == Never }):
			return fmt.Errorf("sim: replica %d has round trips %v, want finite times from 0", i,
				r.RoundTrips)
		case r.Set < 0 || r.Set >= len(c.Replicas):
			return fmt.Errorf("sim: replica %d is in set %d, want 0 to %d", i, r.Set,
				len(c.Replicas)-1)
		case r.PromptLatency < 0:
			return fmt.Errorf("sim: replica %d has latency %v a token of a prompt, want 0 or more",
				i, r.PromptLatency)
		case r.Latency < 0:
			return fmt.Errorf("sim: replica %d has latency %v, want 0 or more", i, r.Latency)
		}
	}
	return c.checkFleet()
}

// wired reports whether the wires exist, have a bandwidth, and are each listed once.
func (c *Config) wired(wires []int) bool {
	for i, w := range wires {
		if w < 0 || w >= len(c.Wires) || !(c.Wires[w] > 0) || math.IsInf(c.Wires[w], 1) ||
			slices.Contains(wires[:i], w) {
			return false
		}
	}
	return len(wires) > 0
}

// checkFleet checks the relations between replicas.
func (c *Config) checkFleet() error {
	for _, check := range []func() error{c.checkPools, c.checkLinks, c.checkOutages,
		c.checkScalings} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkPools checks each replica's place in its pool. It also checks that each prefill pool has a
// decode pool, and each decode pool a prefill pool.
func (c *Config) checkPools() error {
	sizes := map[poolKey]int{}
	for i := range c.Replicas {
		if err := c.checkPlace(i); err != nil {
			return err
		}
		sizes[c.Replicas[i].key()]++
	}
	for p := range sizes {
		of := func(role Role) int { return sizes[poolKey{p.model, role, p.maxPrompt}] }
		if p.role == Prefill && (of(Decode) == 0 || c.Handover == nil) {
			return fmt.Errorf("sim: the prefill replicas of model %d have no decode replicas to "+
				"go on, or no router to choose one",
				p.model)
		}
		if p.role == Decode && of(Prefill) == 0 {
			return fmt.Errorf("sim: the decode replicas of model %d have no prefill replicas "+
				"before them",
				p.model)
		}
	}
	return nil
}

// checkPlace checks the settings of replica i that concern its place in the fleet.
func (c *Config) checkPlace(i int) error {
	r := &c.Replicas[i]
	switch {
	case r.Model < 0 || r.Role < Mixed || r.Role > Decode || r.MaxPrompt < 0:
		return fmt.Errorf("sim: replica %d has model %d, role %d and prompts of %d tokens, want "+
			"0 or more, one of the roles, and 0 or more", i, r.Model, r.Role, r.MaxPrompt)
	case !(r.Weight >= 0) || math.IsInf(r.Weight, 1):
		return fmt.Errorf("sim: replica %d has weight %g, want 0 or more", i, r.Weight)
	case r.Off && r.Steady:
		return fmt.Errorf("sim: replica %d is off at first and steady, want one of the two at "+
			"most",
			i)
	case r.ColdStart < 0:
		return fmt.Errorf("sim: replica %d has a cold start of %v, want 0 or more",
			i, r.ColdStart)
	case r.Role == Prefill && (r.Link < 0 || r.Link >= len(c.Links)):
		return fmt.Errorf("sim: prefill replica %d sends KV caches over link %d, and there "+
			"are %d links",
			i, r.Link, len(c.Links))
	case r.Role == Prefill && (!r.KVBytes.valid() || r.KVBytes.Of(1) < 1 || r.Layers < 0):
		return fmt.Errorf("sim: prefill replica %d sends %d byte a token in %d layers, want 1 "+
			"or more, and 0 or more",
			i, r.KVBytes.Token, r.Layers)
	}
	return nil
}

func (c *Config) checkLinks() error {
	for i, l := range c.Links {
		if !(l.Bandwidth > 0) || l.Latency < 0 {
			return fmt.Errorf("sim: link %d has %g byte/s and latency %v, want more than 0, and 0 "+
				"or more",
				i, l.Bandwidth, l.Latency)
		}
	}
	return nil
}

// checkOutages checks the outages, the queue timeout and the retries.
func (c *Config) checkOutages() error {
	for i, o := range c.Outages {
		if o.Replica < 0 || o.Replica >= len(c.Replicas) || o.At < 0 || o.For < 0 {
			return fmt.Errorf("sim: outage %d is of replica %d at %v for %v; there are %d "+
				"replicas",
				i, o.Replica, o.At, o.For, len(c.Replicas))
		}
	}
	if c.QueueTimeout < 0 || c.Retry.Attempts < 0 || c.Retry.Delay < 0 {
		return fmt.Errorf("sim: found queue timeout %v, %d retries, retry delay %v, want 0 or "+
			"more",
			c.QueueTimeout, c.Retry.Attempts, c.Retry.Delay)
	}
	return nil
}

// checkScalings checks that each pool has at most one scaler, and that a pool without a scaler has
// a running replica.
func (c *Config) checkScalings() error {
	sizes, running := map[poolKey]int{}, map[poolKey]int{}
	for i := range c.Replicas {
		p := c.Replicas[i].key()
		sizes[p]++
		if !c.Replicas[i].Off {
			running[p]++
		}
	}
	for i, s := range c.Scalings {
		p := poolKey{s.Model, s.Role, s.MaxPrompt}
		switch {
		case sizes[p] == 0:
			return fmt.Errorf("sim: scaling %d is of model %d, role %d, which no replica has, or "+
				"which is scaled already",
				i, s.Model, s.Role)
		case s.Scaler == nil || s.Every < 1 || s.Min < 0 || s.Min > sizes[p]:
			return fmt.Errorf("sim: scaling %d has scaler %T every %v, at least %d of %d replicas",
				i, s.Scaler, s.Every, s.Min, sizes[p])
		}
		delete(sizes, p)
	}
	for p := range sizes {
		if running[p] == 0 {
			return fmt.Errorf("sim: no replica of model %d, role %d runs at the start, and no "+
				"scaler starts one",
				p.model, p.role)
		}
	}
	return nil
}
