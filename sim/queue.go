package sim

// Queue is a first-in-first-out queue of sequences that also takes one at the front. A sequence is
// in one queue at most. The zero value is empty and ready.
type Queue struct {
	head, tail *Sequence
	n          int
}

// Len returns the number of sequences in q.
func (q *Queue) Len() int { return q.n }

// Front returns the first sequence of q without removing it, or nil.
func (q *Queue) Front() *Sequence { return q.head }

// Back returns the last sequence of q without removing it, or nil.
func (q *Queue) Back() *Sequence { return q.tail }

// All yields the sequences of q from the front. The queue must not change meanwhile.
func (q *Queue) All(yield func(*Sequence) bool) {
	for s := q.head; s != nil; s = s.behind {
		if !yield(s) {
			return
		}
	}
}

// Push adds s at the back.
func (q *Queue) Push(s *Sequence) {
	s.queue, s.before, s.behind = q, q.tail, nil
	if q.tail == nil {
		q.head = s
	} else {
		q.tail.behind = s
	}
	q.tail = s
	q.n++
}

// PushFront adds s at the front.
func (q *Queue) PushFront(s *Sequence) { q.Insert(s, q.head) }

// Insert adds s before next, which is in q, or at the back where next is nil.
func (q *Queue) Insert(s, next *Sequence) {
	if next == nil {
		q.Push(s)
		return
	}
	s.queue, s.before, s.behind = q, next.before, next
	if next.before == nil {
		q.head = s
	} else {
		next.before.behind = s
	}
	next.before = s
	q.n++
}

// Remove takes s, which is in q, out of it.
func (q *Queue) Remove(s *Sequence) {
	if s.before == nil {
		q.head = s.behind
	} else {
		s.before.behind = s.behind
	}
	if s.behind == nil {
		q.tail = s.before
	} else {
		s.behind.before = s.before
	}
	s.queue, s.before, s.behind = nil, nil, nil
	q.n--
}
