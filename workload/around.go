package workload

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// escalating is a workload some of whose requests are sent on.
type escalating struct {
	ended
	list    []Escalation
	classes int // that are drawn
	key     uint64
	waiting sentOn
	order   int64
}

// withEscalations returns a source that sends requests on, drawn by the seed.
func withEscalations(of ended, list []Escalation, classes int, seed uint64) ended {
	return &escalating{ended: of, list: list, classes: classes, key: escalationStream.key(seed)}
}

// NextArrival implements sim.Source.
func (e *escalating) NextArrival() sim.Time {
	next := e.ended.NextArrival()
	if len(e.waiting) > 0 {
		next = min(next, e.waiting[0].Arrival)
	}
	return next
}

// Next implements sim.Source.
func (e *escalating) Next(r *sim.Request) {
	if len(e.waiting) == 0 || e.ended.NextArrival() <= e.waiting[0].Arrival {
		e.ended.Next(r)
		return
	}
	id, space := r.ID, r.Content[:0]
	*r = heap.Pop(&e.waiting).(follower).Request
	r.ID, r.Content = id, append(space, r.Content...)
}

// Done implements sim.Source.
func (e *escalating) Done(r *sim.Request, at sim.Time) {
	e.ended.Done(r, at)
	for k := range e.list {
		to := &e.list[k]
		if to.From != r.Class || !e.chooses(k, r) {
			continue
		}
		again := sim.Request{Prompt: r.Prompt, Output: r.Output, Class: e.classes + k,
			Adapter: r.Adapter, Content: append([]sim.Segment(nil), r.Content...)}
		to.mark(&again)
		again.Region = r.Region
		stamp(&again, at)
		e.order++
		heap.Push(&e.waiting, follower{again, e.order})
	}
}

// Open implements sim.OpenLoop. Requests that are sent on follow from the ends of others.
func (*escalating) Open() bool { return false }

// chooses reports whether a request is sent on by escalation k.
func (e *escalating) chooses(k int, r *sim.Request) bool {
	of := content.Hash(uint64(r.Arrival)) ^ content.Hash(uint64(r.ID)+uint64(k)<<40)
	return float64(content.Hash(e.key^of)>>11) < e.list[k].Share*(1<<53)
}

// follower is a request that is sent on; order breaks ties.
type follower struct {
	sim.Request
	order int64
}

// sentOn is a heap of followers, the earliest first.
type sentOn []follower

func (s sentOn) Len() int { return len(s) }
func (s sentOn) Less(i, j int) bool {
	a, b := &s[i], &s[j]
	return a.Arrival < b.Arrival || a.Arrival == b.Arrival && a.order < b.order
}
func (s sentOn) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *sentOn) Push(x any)   { *s = append(*s, x.(follower)) }
func (s *sentOn) Pop() any {
	last := len(*s) - 1
	f := (*s)[last]
	(*s)[last] = follower{}
	*s = (*s)[:last]
	return f
}

// adapted is a workload whose requests ask for adapters.
type adapted struct {
	ended
	table *lengths.Table
	key   uint64
	sent  uint64
}

// ended is a source that knows when it was to end. It has no Open, so that a source around it
// cannot inherit the answer: whether requests are known ahead is for each source to say.
type ended interface {
	Source
	sim.Timed
}

// withAdapters returns a source whose requests ask for adapters, drawn by the seed.
func withAdapters(of ended, a *Adapters, seed uint64) (ended, error) {
	if a.Count < 1 || a.Count > maxTexts || !(a.Zipf >= 0) || math.IsInf(a.Zipf, 1) {
		return nil, fmt.Errorf("workload: adapters: found %d with zipf %v, allowed: 1 to %d, and "+
			"finite numbers from 0", a.Count, a.Zipf, maxTexts)
	}
	table, err := lengths.NewTable(zipf(a.Count, a.Zipf))
	if err != nil {
		return nil, fmt.Errorf("workload: adapters: %w", err)
	}
	return &adapted{ended: of, table: table, key: adapterStream.key(seed)}, nil
}

// Open implements sim.OpenLoop. Done is the inner source's.
func (a *adapted) Open() bool {
	inside, ok := a.ended.(sim.OpenLoop)
	return ok && inside.Open()
}

// Next implements sim.Source. The same text has other KV under another adapter, so its name
// differs.
func (a *adapted) Next(r *sim.Request) {
	a.ended.Next(r)
	of := 2 * a.sent
	if r.Session != 0 {
		of = 2*uint64(r.Session) + 1
	}
	a.sent++
	r.Adapter = 1 + a.table.At(content.Hash(a.key^content.Hash(of)))
	for i := range r.Content {
		r.Content[i].ID = content.Hash(r.Content[i].ID + uint64(r.Adapter))
	}
	if r.Answer != 0 {
		r.Answer = content.Hash(r.Answer + uint64(r.Adapter))
	}
}

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
