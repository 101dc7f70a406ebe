package workload

import (
	"container/heap"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
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
