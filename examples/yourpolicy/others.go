package main

import (
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// LongApart is a router: long prompts go to the last replica, so that short ones do not wait for
// them.
type LongApart struct{ tokens int }

// Route implements sim.Router.
func (l LongApart) Route(r *sim.Request, p *sim.Pool) int {
	if r.Prompt >= l.tokens {
		return p.At(p.Len() - 1)
	}
	return p.LeastRequests()
}

func longApart() policies.Policy[sim.Router] {
	return policies.Policy[sim.Router]{
		Name: "long-apart",
		Doc:  "long prompts to the last replica, others to the one with the fewest requests",
		Params: []policies.Param{
			{Name: "tokens", Doc: "tokens from which on a prompt is long", Default: "1000"}},
		New: func(_ policies.Deployment, v policies.Values) (sim.Router, error) {
			return LongApart{v.Count("tokens")}, nil
		},
	}
}

// Careful is a paged memory in which newcomers leave blocks free for the answers of running
// sequences.
type Careful struct {
	*memory.Paged
	free int64
}

// Extend implements sim.Memory.
func (c Careful) Extend(s *sim.Sequence, n int, reserve int64) bool {
	if !s.Running() && c.Used() > 0 {
		reserve += c.free
	}
	return c.Paged.Extend(s, n, reserve)
}

func careful() policies.Policy[sim.Memory] {
	return policies.Policy[sim.Memory]{
		Name: "careful",
		Doc:  "blocks of 16 tokens, some of which newcomers leave free",
		Params: []policies.Param{
			{Name: "free", Doc: "share of the blocks", Default: "0.1", Kind: policies.Number}},
		New: func(d policies.Deployment, v policies.Values) (sim.Memory, error) {
			p, err := memory.NewPaged(d.KVTokens/16, 16)
			if err != nil {
				return nil, err
			}
			return Careful{p, int64(v.Number("free") * float64(p.Capacity()))}, nil
		},
	}
}
