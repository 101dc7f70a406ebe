package sim

import "math"

// Scheduler decides what each step of one replica does. It owns the order of the waiting sequences.
type Scheduler interface {
	// Enqueue hands over a sequence that waits to run: one that arrived, or one that was preempted
	// (s.Preemptions > 0).
	Enqueue(s *Sequence)
	// Waiting returns the number of sequences handed over that are not in a batch.
	Waiting() int
	// Schedule forms the next step of b with the methods of Batch. A step left empty lets the batch
	// rest.
	Schedule(b *Batch) Decision
}

// Forever is a number of steps that never runs out.
const Forever int64 = math.MaxInt64

// Listener is a Scheduler that is told what becomes of the sequences that it put into batches.
type Listener interface {
	Scheduler
	// Entered is called when s gets a place in b.
	Entered(b *Batch, s *Sequence)
	// Joined is called when the prompt of s is computed and a token came out: s decodes in b from
	// now on, unless that token was its last.
	Joined(b *Batch, s *Sequence)
	// Left is called when s leaves b, either for good (gone: its last token came out, or the
	// request goes elsewhere) or to be handed over again. Its progress can still be read.
	Left(b *Batch, s *Sequence, gone bool)
}

// Decision says for how long a schedule stands, which is how far the simulator may leap. It matters
// for steps without prefill only: one with prefill stands for itself.
type Decision struct {
	// Steps is the number of steps for which the decision stands if nothing arrives, finishes or
	// runs out of memory; at least 1.
	Steps int64
	// IgnoreArrivals is true where an arrival would not change the decision: the batch is full,
	// say, or the head of the queue does not fit.
	IgnoreArrivals bool
	// Wake is when to ask again, if nothing arrives or finishes before; 0 means only then. While
	// steps run, the first one that ends at Wake or later is the last for which the decision
	// stands.
	Wake Time
	// Together is true for a static batch: sequences that are complete keep their place and their
	// memory, as padding, until all in the batch are. Then their answers are returned at once.
	Together bool
}

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
