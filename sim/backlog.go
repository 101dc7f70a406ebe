package sim

// backlog holds the requests that wait and that the scheduler does not know yet, in less than half
// of the space that sequences take. It is a queue of places in a chain of blocks; push and pop
// alone change head, tail, first, end and n. With b = 44 places a block and k blocks between head
// and tail,
//
//	n = end - first                     where head is tail
//	n = b - first + k·b + end           otherwise
type backlog struct {
	take       func() *Sequence // returns a sequence for the next request; nil for no backlog
	put        func(*Sequence)  // takes in the sequence of a request meanwhile
	head, tail *waitingBlock    // nil before the first push
	first      int              // place of the first request in head
	end        int              // place behind the last request in tail, from 0 to b
	n          int              // requests
}

// waitingBlock takes 8 KiB. Those behind the tail are free.
type waitingBlock struct {
	list [44]waiting
	next *waitingBlock
}

// waiting is a request in a backlog, with the two fields of its sequence that it cannot do without.
type waiting struct {
	Request
	replica int  // Sequence.Replica
	latency Time // Sequence.Latency
}

// push returns the place for a request at the end.
func (l *backlog) push() *waiting {
	if l.head == nil {
		l.head = new(waitingBlock)
		l.tail = l.head
	}
	if l.end == len(l.tail.list) {
		if l.tail.next == nil {
			l.tail.next = new(waitingBlock)
		}
		l.tail, l.end = l.tail.next, 0
	}
	l.end++
	l.n++
	return &l.tail.list[l.end-1]
}

// pop removes the first request. Its place is valid until the next push.
func (l *backlog) pop() *waiting {
	used := l.head
	w := &used.list[l.first]
	l.first++
	l.n--
	switch {
	case l.first < len(used.list):
	case used == l.tail:
		l.first, l.end = 0, 0
	default:
		l.head, l.first = used.next, 0
		used.next, l.tail.next = l.tail.next, used
	}
	return w
}

// exchange swaps what w and s hold, so that each keeps space for the content of another request.
func (w *waiting) exchange(s *Sequence) {
	w.Request, s.Request = s.Request, w.Request
	w.replica, s.Replica = s.Replica, w.replica
	w.latency, s.Latency = s.Latency, w.latency
}
