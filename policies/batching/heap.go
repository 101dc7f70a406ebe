package batching

import "github.com/llmsim/llmsim/sim"

// heap is a binary heap of sequences, the first in order on top.
type heap struct {
	entries []entry
	places  []int // by Sequence.Slot: which of the entries is that of a sequence in the heap
}

// entry is a place in an order: by rank, the lowest first, and among equals by id.
type entry struct {
	rank float64
	id   int64
	s    *sim.Sequence
}

func (e *entry) before(other *entry) bool {
	return e.rank < other.rank || e.rank == other.rank && e.id < other.id
}

func (h *heap) len() int { return len(h.entries) }

func (h *heap) push(e entry) {
	for len(h.places) <= e.s.Slot {
		h.places = append(h.places, 0)
	}
	h.entries = append(h.entries, e)
	h.up(h.len()-1, e)
}

func (h *heap) remove(s *sim.Sequence) {
	i, last := h.places[s.Slot], h.len()-1
	e := h.entries[last]
	h.entries[last] = entry{}
	h.entries = h.entries[:last]
	if i < last {
		h.replace(i, e)
	}
}

// replace puts e into place i, and then moves it to where it belongs.
func (h *heap) replace(i int, e entry) { h.up(h.down(i, e), e) }

// up puts e at place i, or above.
func (h *heap) up(i int, e entry) {
	for i > 0 && e.before(&h.entries[(i-1)/2]) {
		h.set(i, h.entries[(i-1)/2])
		i = (i - 1) / 2
	}
	h.set(i, e)
}

// down makes place i, or one below, free for e, and returns which.
func (h *heap) down(i int, e entry) int {
	for {
		child := 2*i + 1
		if child >= h.len() {
			return i
		}
		if child+1 < h.len() && h.entries[child+1].before(&h.entries[child]) {
			child++
		}
		if e.before(&h.entries[child]) {
			return i
		}
		h.set(i, h.entries[child])
		i = child
	}
}

func (h *heap) set(i int, e entry) {
	h.entries[i] = e
	h.places[e.s.Slot] = i
}
