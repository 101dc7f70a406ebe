package batching

import "github.com/llmsim/llmsim/sim"

// ranked is an order by rank. The lowest rank comes first, and of equal ranks the sequence that
// arrived first. The sequence with the highest rank gives way first.
type ranked struct {
	// rank is computed when a request arrives, and kept in ranks.
	rank    func(r *sim.Request) float64
	ranks   sim.PerSequence[float64]
	waiting heap
	// consumed is true if the rank counts the tokens to come, so that each token reduces it by one.
	consumed bool
}

// place returns the present place of s in the order.
func (r *ranked) place(s *sim.Sequence) entry {
	rank := *r.ranks.Of(s)
	if r.consumed {
		rank -= float64(s.Progress())
	}
	return entry{rank, s.ID, s}
}

func (r *ranked) add(s *sim.Sequence) {
	if s.Preemptions == 0 {
		*r.ranks.Of(s) = r.rank(&s.Request)
	}
	r.waiting.push(r.place(s))
}

func (r *ranked) len() int                           { return r.waiting.len() }
func (r *ranked) first() *sim.Sequence               { return r.waiting.entries[0].s }
func (r *ranked) remove(s *sim.Sequence)             { r.waiting.remove(s) }
func (r *ranked) displaced(*sim.Batch) *sim.Sequence { return nil }
func (r *ranked) ignoresArrivals(full bool) bool     { return full }

func (r *ranked) victim(b *sim.Batch) *sim.Sequence {
	var last entry
	for s := range b.Preemptible {
		if e := r.place(s); last.s == nil || last.before(&e) {
			last = e
		}
	}
	return last.s
}
