package sim

import "math"

// eventKind says what happens at a time that is known beforehand.
type eventKind uint8

const (
	arriving    eventKind = iota // a request from outside comes in
	beginning                    // an announced request arrives, wherever it is
	placing                      // a request comes back after a failure
	timingOut                    // a request that did not begin to run gives up
	cancelling                   // a user goes away
	handingOver                  // a prompt is computed, and a decode replica is needed
	queueing                     // an announced request arrives at its replica
	delivering                   // a KV cache has come over a link
	flowing                      // a transfer from or to a store of KV caches is through
	stopping                     // a request waits no longer for a read of its disk
	showing                      // a user gets the first tokens of an answer
	yielding                     // a KV cache has been taken over; its first holder frees the place
	failing                      // an outage begins
	recovering                   // an outage ends
	readying                     // a replica has started
	scaling                      // a scaler is asked
)

// event is an entry of the agenda. Only push changes it. One struct serves all kinds, so that life
// and n mean different things:
//
//	s != nil: the event is stale once s.life != life. n is the replica's generation for a
//	          queueing event. A showing or cancelling event is stale, too, if n is not s.Retries:
//	          the answer has begun anew. A cancelling event with n < 0 holds for any s.Retries.
//	s == nil: n is the index of a replica, an outage or a scaling, or the number of a flowing
//	          event; life is the generation of the replica for recovering and readying
type event struct {
	at Time
	// order sorts events of the same time. It is below 0 for arrivals, which come first, and grows
	// with each push.
	order int64
	kind  eventKind
	life  uint32
	n     int
	s     *Sequence // nil where the event concerns no request
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// agenda has the events whose times are known. Only push and pop change it.
type agenda struct {
	heap      []event // a binary heap: no event is before its parent
	scheduled int64   // pushes so far
	// pending is the number of events in heap that are not scaling, which never ends: the rest of
	// them can still change what requests wait for.
	pending int
}

// next returns when the first event happens, or Never.
func (a *agenda) next() Time {
	if len(a.heap) == 0 {
		return Never
	}
	return a.heap[0].at
}

func (a *agenda) push(e event) {
	if e.kind != scaling {
		a.pending++
	}
	if e.s != nil {
		e.life = e.s.life
	}
	e.order = a.scheduled
	if e.kind == arriving {
		e.order -= math.MaxInt64
	}
	a.scheduled++
	a.heap = append(a.heap, e)
	h := a.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
}

func (a *agenda) pop() event {
	h := a.heap
	first, last := h[0], len(h)-1
	e := h[last]
	h[last] = event{}
	h = h[:last]
	a.heap = h
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&e) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if last > 0 {
		h[i] = e
	}
	if first.kind != scaling {
		a.pending--
	}
	return first
}
