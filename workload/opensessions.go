package workload

import (
	"math/bits"

	"github.com/llmsim/llmsim/sim"
)

// openSessions are the sessions under way.
type openSessions struct {
	// waiting are users and sessions that will send a request, open the sessions by number, and
	// spare the ended ones, to be used again.
	waiting waiting
	open    map[int64]*session
	spare   []*session
	keepCut bool // see Config.KeepCut
}

func newOpenSessions(keepCut bool) openSessions {
	return openSessions{open: map[int64]*session{}, keepCut: keepCut}
}

// begin takes over a session whose first request is r, at the given time. Other calls that do not
// wait follow when their time has come. That many calls were made before; r becomes the one after
// them.
func (t *openSessions) begin(r *sim.Request, g *graph, at sim.Time, made int32) {
	s := &session{}
	if n := len(t.spare); n > 0 {
		s, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	s.begin(r, g)
	if made > 0 {
		for i := range made {
			s.end(i, func(int32) {})
		}
		s.fill(made, r)
	}
	t.open[r.Session] = s
	for i := made + 1; int(i) < len(s.calls); i++ {
		if s.calls[i].missing == 0 {
			t.waiting.push(later(at, s.calls[i].wait), s, i)
		}
	}
}

// goOn schedules what follows from the end of a call of a session at the given time, and reports
// whether the session goes on.
func (t *openSessions) goOn(r *sim.Request, at sim.Time) bool {
	s := t.open[r.Session]
	if s == nil {
		return false
	}
	if t.keepCut && r.Answered > 0 {
		s.cut(r.Call.Number-1, r.Answered)
	}
	s.end(r.Call.Number-1, func(next int32) {
		t.waiting.push(later(at, s.calls[next].wait), s, next)
	})
	if s.open > 0 {
		return true
	}
	delete(t.open, r.Session)
	t.spare = append(t.spare, s)
	return false
}

// waiter is a user or a session that will send a request at a known time.
type waiter struct {
	at sim.Time // from 0
	// order breaks ties: first come, first served.
	order int64
	// talk is the session that goes on with a call; nil for a new request of a user, whose call is
	// firstSession for the first one.
	talk *session
	call int32
}

const firstSession = 1

// precedes returns 1 if w comes before other, else 0. The code has no branch, because a processor
// could not predict it.
func (w *waiter) precedes(other *waiter) int {
	_, borrow := bits.Sub64(uint64(w.order), uint64(other.order), 0)
	_, borrow = bits.Sub64(uint64(w.at), uint64(other.at), borrow)
	return int(borrow)
}

// waiting is a binary heap of waiters, the earliest first.
type waiting struct {
	heap  []waiter
	order int64
}

// first returns when the earliest waiter sends, or sim.Never.
func (q *waiting) first() sim.Time {
	if len(q.heap) == 0 {
		return sim.Never
	}
	return q.heap[0].at
}

func (q *waiting) push(at sim.Time, talk *session, call int32) {
	q.order++
	q.heap = append(q.heap, waiter{})
	q.rise(len(q.heap)-1, waiter{at, q.order, talk, call})
}

// rise puts w in the free place i, or above it.
func (q *waiting) rise(i int, w waiter) {
	h := q.heap
	for i > 0 {
		parent := (i - 1) / 2
		if w.precedes(&h[parent]) == 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = w
}

// pop removes and returns the earliest. The free place sinks to the bottom, where the last entry
// most often belongs.
func (q *waiting) pop() waiter {
	h := q.heap
	top, last := h[0], len(h)-1
	w := h[last]
	h[last] = waiter{}
	h = h[:last]
	q.heap = h
	i := 0
	for child := 1; child < last; child = 2*i + 1 {
		if child+1 < last {
			child += h[child+1].precedes(&h[child])
		}
		h[i] = h[child]
		i = child
	}
	if last > 0 {
		q.rise(i, w)
	}
	return top
}
