package batching

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// heap is a binary heap of sequences, the first in order on top.
type heap struct {
	entries []entry // no entry is before its parent
	// places says, by Sequence.Slot, which entry of the heap holds a sequence; it means nothing for
	// other sequences. Heaps can share it if a sequence is in one of them at most. It is nil before
	// the first push.
	places *[]int32
}

// entry is a place in an order: by rank, the lowest first, and among equals by id.
type entry struct {
	rank float64
	id   int64 // Request.ID of s
	s    *sim.Sequence
}

func (e *entry) before(other *entry) bool {
	return e.rank < other.rank || e.rank == other.rank && e.id < other.id
}

func (h *heap) len() int { return len(h.entries) }

func (h *heap) push(e entry) {
	if h.places == nil {
		h.places = new([]int32)
	}
	if missing := e.s.Slot + 1 - len(*h.places); missing > 0 {
		*h.places = double(*h.places, missing)[:e.s.Slot+1]
	}
	h.entries = append(double(h.entries, 1), e)
	h.up(h.len()-1, e)
}

// double makes room for more elements of a list, which may become long: it doubles the room where
// append would add a quarter, so that less is copied and thrown away.
func double[T any](list []T, more int) []T {
	if len(list)+more > cap(list) {
		return slices.Grow(list, max(len(list), more))
	}
	return list
}

func (h *heap) remove(s *sim.Sequence) {
	i, last := int((*h.places)[s.Slot]), h.len()-1
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
	(*h.places)[e.s.Slot] = int32(i)
}
