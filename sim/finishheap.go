package sim

import "math/bits"

// finishHeap orders the decoding sequences of a batch by the step at which they will be complete.
// It is a binary heap. The entry of a sequence that left early is stale: its epoch differs, and it
// is dropped when it reaches the top. While there are no stale entries, the heap reads no sequence.
// A sequence has at most one entry that is not stale, exactly if its field finishing is set.
type finishHeap struct {
	entries []finishEntry // no entry precedes its parent
	stale   int           // entries with an epoch other than their sequence's
}

// finishEntry does not change in the heap.
type finishEntry struct {
	step     int64 // progress.steps when seq is complete
	admitted int64 // Sequence.admitted of seq
	seq      *Sequence
	epoch    uint32 // Sequence.epoch of seq at push
}

// precedes returns 1 if e comes before other, else 0. It orders entries by their step, and entries
// of the same step by their admission. So the order does not depend on stale entries, which leaping
// drops later than stepping. The code has no branch, because a processor could not predict it.
func (e *finishEntry) precedes(other *finishEntry) int {
	_, borrow := bits.Sub64(uint64(e.admitted), uint64(other.admitted), 0)
	_, borrow = bits.Sub64(uint64(e.step), uint64(other.step), borrow)
	return int(borrow)
}

// next returns the earliest completion step, or Forever.
func (h *finishHeap) next() int64 {
	if h.stale > 0 {
		h.dropStale()
	}
	if len(h.entries) == 0 {
		return Forever
	}
	return h.entries[0].step
}

// dropStale drops the stale entries at the top.
func (h *finishHeap) dropStale() {
	for h.stale > 0 && h.entries[0].epoch != h.entries[0].seq.epoch {
		h.pop()
		h.stale--
	}
}

func (h *finishHeap) push(step int64, s *Sequence) {
	s.finishing = true
	h.entries = append(h.entries, finishEntry{})
	h.rise(len(h.entries)-1, finishEntry{step, s.admitted, s, s.epoch})
}

// rise puts e in the free place i, or above it.
func (h *finishHeap) rise(i int, e finishEntry) {
	q := h.entries
	for i > 0 {
		up := (i - 1) / 2
		if e.precedes(&q[up]) == 0 {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
}

// markStale makes the entry of s stale: s leaves the batch before its answer is complete.
func (h *finishHeap) markStale(s *Sequence) {
	s.finishing = false
	h.stale++
}

// pop removes and returns the sequence at the top. The free place sinks to the bottom, where the
// last entry most often belongs: this takes half the comparisons of sinking that entry.
func (h *finishHeap) pop() *Sequence {
	q := h.entries
	top, last := q[0].seq, len(q)-1
	e := q[last]
	q[last] = finishEntry{}
	q = q[:last]
	h.entries = q
	if last == 0 {
		return top
	}
	i, child := 0, 1
	for ; child+1 < last; child = 2*i + 1 {
		child += q[child+1].precedes(&q[child])
		q[i] = q[child]
		i = child
	}
	if child < last {
		q[i] = q[child]
		i = child
	}
	h.rise(i, e)
	return top
}
