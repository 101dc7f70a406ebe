package sim

// InOrder is a Scheduler that may start sequences in the order in which they are enqueued.
type InOrder interface {
	Scheduler
	// InOrder reports whether the scheduler does so. It then reads nothing of the sequences that
	// wait but the first of them, and whether there are any.
	InOrder() bool
}

// enoughWaiting is the number of waiting sequences that a scheduler has before others wait in a
// backlog.
const enoughWaiting = 8

// backlog holds the requests that wait behind those that the scheduler knows, in less than half of
// the space that sequences take.
type backlog struct {
	spares     *spares // where the sequences of such requests are meanwhile; nil for no backlog
	head, tail *waitingBlock
	first, end int // of the requests in head and tail
	n          int
}

// waitingBlock takes 8 KiB. Those behind the tail are free.
type waitingBlock struct {
	list [46]waiting
	next *waitingBlock
}

// waiting is a request in a backlog.
type waiting struct {
	Request
	replica int
	latency Time
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

// enqueue lets s wait in the scheduler, or in the backlog. Once r gets a request that may leave
// early, its requests wait in the scheduler only.
func (r *replica) enqueue(s *Sequence) {
	l := &r.backlog
	if l.spares != nil && s.Patience > 0 {
		for l.n > 0 {
			r.advanceBacklog()
		}
		l.spares = nil
	}
	if l.spares == nil || l.n == 0 && r.scheduler.Waiting() < enoughWaiting {
		r.scheduler.Enqueue(s)
		return
	}
	l.push().exchange(s)
	r.vacate(s.Slot, s.row)
	l.spares.put(s)
}

// advanceBacklog gives the scheduler the first request of the backlog.
func (r *replica) advanceBacklog() {
	s := r.backlog.spares.take()
	r.backlog.pop().exchange(s)
	s.place, s.assigned = atReplica, true
	r.seat(s)
	r.scheduler.Enqueue(s)
}

// spares are sequences for reuse, linked with each other.
type spares struct{ latest *Sequence }

func (p *spares) take() *Sequence {
	s := p.latest
	if s == nil {
		return new(Sequence)
	}
	p.latest = s.links[resident].behind
	s.reset()
	return s
}

func (p *spares) put(s *Sequence) {
	s.expire()
	s.links[resident].behind, p.latest = p.latest, s
}

// allowBacklogs lets requests wait in backlogs at the replicas whose schedulers know the order. It
// must not be called where something else refers to the sequences of waiting requests.
func (f *fleet) allowBacklogs() {
	for i := range f.replicas {
		r := &f.replicas[i].replica
		scheduler, ok := r.scheduler.(InOrder)
		_, adapters := r.memory.(AdapterMemory)
		if ok && scheduler.InOrder() && !adapters {
			r.backlog.spares = &f.spares
		}
	}
}
