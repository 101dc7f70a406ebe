package sim

// Queue is a first-in-first-out queue of sequences. A sequence can also be added at the front. A
// sequence is in at most one queue. The zero value is empty and ready for use.
type Queue struct {
	list list
	n    int
}

// Len returns the number of sequences in q.
func (q *Queue) Len() int { return q.n }

// Front returns the first sequence of q without removing it, or nil.
func (q *Queue) Front() *Sequence { return q.list.first }

// Back returns the last sequence of q without removing it, or nil.
func (q *Queue) Back() *Sequence { return q.list.last }

// All yields the sequences of q from the front. The queue must not change meanwhile.
func (q *Queue) All(yield func(*Sequence) bool) {
	for s := q.list.first; s != nil; s = s.links[queued].behind {
		if !yield(s) {
			return
		}
	}
}

// Push adds s at the back.
func (q *Queue) Push(s *Sequence) { q.Insert(s, nil) }

// PushFront adds s at the front.
func (q *Queue) PushFront(s *Sequence) { q.Insert(s, q.list.first) }

// Insert adds s before next, which is in q, or at the back if next is nil.
func (q *Queue) Insert(s, next *Sequence) {
	q.list.insert(s, next)
	s.queue = q
	q.n++
}

// Remove takes s, which is in q, out of it.
func (q *Queue) Remove(s *Sequence) {
	q.list.remove(s)
	s.queue = nil
	q.n--
}
