package batching

import "github.com/llmsim/llmsim/sim"

// heap is a binary heap of sequences, the first in order on top. A sequence is in one at most, and
// Sequence.Place tells where.
type heap []entry

// entry is a place in an order: by rank, the lowest first, and among equals by id.
type entry struct {
	rank float64
	id   int64
	s    *sim.Sequence
}

func (e *entry) before(other *entry) bool {
	return e.rank < other.rank || e.rank == other.rank && e.id < other.id
}

func (h *heap) push(e entry) {
	*h = append(*h, e)
	h.up(len(*h)-1, e)
}

func (h *heap) remove(s *sim.Sequence) {
	q, i := *h, s.Place
	last := len(q) - 1
	e := q[last]
	q[last] = entry{}
	*h = q[:last]
	if i < last {
		h.replace(i, e)
	}
}

// replace puts e into place i, or where it belongs instead.
func (h heap) replace(i int, e entry) { h.up(h.down(i, e), e) }

// up puts e at place i, or above.
func (h heap) up(i int, e entry) {
	for i > 0 && e.before(&h[(i-1)/2]) {
		h.set(i, h[(i-1)/2])
		i = (i - 1) / 2
	}
	h.set(i, e)
}

// down makes place i, or one below, free for e, and returns which.
func (h heap) down(i int, e entry) int {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return i
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if e.before(&h[child]) {
			return i
		}
		h.set(i, h[child])
		i = child
	}
}

func (h heap) set(i int, e entry) {
	h[i] = e
	e.s.Place = i
}
