package main

import (
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// LongApart is a router: long prompts go to the last replica, so that short ones do not wait for
// them.
type LongApart struct {
	Tokens int `json:"tokens" default:"1000" jsonschema:"tokens from which on a prompt is long"`
}

// New implements policies.Settings.
func (l LongApart) New(policies.Deployment) (sim.Router, error) { return l, nil }

// Route implements sim.Router.
func (l LongApart) Route(r *sim.Request, p *sim.Pool) int {
	if r.Prompt >= l.Tokens {
		return p.At(p.Len() - 1)
	}
	return p.LeastRequests()
}

// Careful is a paged memory in which newcomers leave blocks free for the answers of running
// sequences.
type Careful struct {
	Free float64 `json:"free" default:"0.1" max:"1" jsonschema:"share of the blocks"`
	*memory.Paged
	blocks int64
}

// New implements policies.Settings.
func (c Careful) New(d policies.Deployment) (m sim.Memory, err error) {
	c.Paged, err = memory.NewPaged(d.KVTokens/16, 16)
	if err == nil {
		c.blocks = int64(c.Free * float64(c.Capacity()))
	}
	return c, err
}

// Extend implements sim.Memory.
func (c Careful) Extend(s *sim.Sequence, n int, reserve int64) bool {
	if !s.Running() && c.Used() > 0 {
		reserve += c.blocks
	}
	return c.Paged.Extend(s, n, reserve)
}
