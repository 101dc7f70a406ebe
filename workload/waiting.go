package workload

import "github.com/llmsim/llmsim/sim"

// waiter is a user or a session that will send a request at a known time.
type waiter struct {
	at sim.Time
	// order breaks ties: first come, first served.
	order int64
	// talk is the session that goes on with a call; nil for a new request of a user, whose call is
	// firstSession for the first one.
	talk *session
	call int32
}

const firstSession = 1

func (w waiter) before(other waiter) bool {
	return w.at < other.at || (w.at == other.at && w.order < other.order)
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
	q.heap = append(q.heap, waiter{at, q.order, talk, call})
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.heap[i].before(q.heap[parent]) {
			break
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *waiting) pop() waiter {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = waiter{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
