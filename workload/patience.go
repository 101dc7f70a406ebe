package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// impatient is a workload whose users have a patience that is drawn for each request by itself.
type impatient struct {
	ended
	key     uint64
	draws   []func() sim.Time // by class; nil where all users of a class have the same patience
	numbers rand.PCG
	sent    uint64
}

// withPatience returns a source in which patience is drawn by the seed, where a class asks for it.
func withPatience(of ended, c Config) (ended, error) {
	p, drawn := &impatient{ended: of, key: patienceStream.key(c.Seed)}, false
	for _, t := range c.traits() {
		var draw func() sim.Time
		if t.PatienceShape != nil {
			var err error
			if draw, err = t.patience().Sampler(&p.numbers); err != nil {
				return nil, fmt.Errorf("workload: patience: %w", err)
			}
			drawn = true
		}
		p.draws = append(p.draws, draw)
	}
	if !drawn {
		return of, nil
	}
	return p, nil
}

// traits lists the traits of requests by class.
func (c Config) traits() (list []Traits) {
	for i := range c.Classes {
		list = append(list, c.Classes[i].Traits)
	}
	for i := range c.Escalations {
		list = append(list, c.Escalations[i].Traits)
	}
	for i := range c.Traces { // the requests of each have the class of its number
		list = append(list, append(c.Traces[i].Traits, Traits{})[0])
	}
	if c.Trace != nil {
		list = append(list, c.Trace.Traits...)
	}
	return list
}

// Open implements sim.OpenLoop. Done is the inner source's.
func (p *impatient) Open() bool {
	inside, ok := p.ended.(sim.OpenLoop)
	return ok && inside.Open()
}

// Next implements sim.Source. The patience of a call of a session does not depend on when it is
// sent. A span of 0 would mean that the user never leaves.
func (p *impatient) Next(r *sim.Request) {
	p.ended.Next(r)
	of := 2 * p.sent
	if r.Session != 0 {
		of = 2*content.Hash(uint64(r.Session)<<16|uint64(r.Call.Number)) + 1
	}
	p.sent++
	if r.Class < len(p.draws) && p.draws[r.Class] != nil {
		seed := content.Hash(p.key ^ content.Hash(of))
		p.numbers.Seed(seed, content.Hash(seed))
		r.Patience = max(1, p.draws[r.Class]())
	}
}
