package batching

import "github.com/llmsim/llmsim/sim"

// ranked is an order by rank: the lowest comes first, of equals the one that arrived first. The one with the highest rank gives
// way first.
type ranked struct {
	// rank is computed when a request arrives, and kept in Sequence.Rank.
	rank func(r *sim.Request) float64
	// consumed tells that the rank is work to do, of which each token that comes out takes one away.
	consumed bool
	// displaces tells that one that waits takes the place of one that runs and has a higher rank.
	displaces bool

	heap []entry
}

// entry is a sequence that waits, in a heap with two children a node.
type entry struct {
	rank float64
	id   int64
	s    *sim.Sequence
}

func (e *entry) before(other *entry) bool {
	return e.rank < other.rank || e.rank == other.rank && e.id < other.id
}

// now returns the place of s in the order at the moment.
func (r *ranked) now(s *sim.Sequence) entry {
	rank := s.Rank
	if r.consumed {
		rank = max(0, rank-float64(s.Progress()))
	}
	return entry{rank, s.ID, s}
}

func (r *ranked) add(s *sim.Sequence) {
	if s.Preemptions == 0 {
		s.Rank = r.rank(&s.Request)
	}
	e := r.now(s)
	r.heap = append(r.heap, e)
	r.up(len(r.heap)-1, e)
}

func (r *ranked) len() int             { return len(r.heap) }
func (r *ranked) first() *sim.Sequence { return r.heap[0].s }

func (r *ranked) remove(s *sim.Sequence) {
	i, last := 0, len(r.heap)-1
	for r.heap[i].s != s {
		i++
	}
	e := r.heap[last]
	r.heap[last] = entry{}
	r.heap = r.heap[:last]
	if i < last {
		r.up(r.down(i, e), e)
	}
}

// up puts e at place i of the heap, or above.
func (r *ranked) up(i int, e entry) {
	h := r.heap
	for i > 0 && e.before(&h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
}

// down makes place i of the heap, or one below, free for e, and returns which.
func (r *ranked) down(i int, e entry) int {
	h := r.heap
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
		h[i] = h[child]
		i = child
	}
}

func (r *ranked) victim(b *sim.Batch) *sim.Sequence { return r.last(b.Preemptible).s }

func (r *ranked) displaced(b *sim.Batch) *sim.Sequence {
	if !r.displaces {
		return nil
	}
	last := r.last(b.All)
	if last.s == nil || last.before(&r.heap[0]) {
		return nil
	}
	return last.s
}

func (r *ranked) ignoresArrivals(full bool) bool { return full && !r.displaces }

// last returns the last in order of some sequences, nobody where there are none.
func (r *ranked) last(of func(yield func(*sim.Sequence) bool)) entry {
	var last entry
	for s := range of {
		if e := r.now(s); last.s == nil || last.before(&e) {
			last = e
		}
	}
	return last
}
