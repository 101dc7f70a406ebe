package sim

// PerSequence holds a value of type T for each sequence of a replica, for use by a policy. The zero
// value is ready for use.
type PerSequence[T any] struct{ list []kept[T] }

// kept is a row of a PerSequence: the value for the sequence with that ID and number of retries. It
// stays when the sequence has left, until another one gets the row; the two numbers tell them
// apart.
type kept[T any] struct {
	id      int64
	value   T
	retries int32
}

// Of returns the value for s, which is the zero value if s is new to the replica. The pointer is
// valid until Of is called for another sequence.
func (p *PerSequence[T]) Of(s *Sequence) *T {
	if row := uint(s.row - 1); row < uint(len(p.list)) {
		if k := &p.list[row]; k.id == s.ID && int(k.retries) == s.Retries {
			return &k.value
		}
	}
	return p.begin(s)
}

// begin returns the zero value for s, after making room for it.
func (p *PerSequence[T]) begin(s *Sequence) *T {
	row := s.Slot
	if s.rows != nil {
		row = s.rowNumber()
	}
	if row >= cap(p.list) { // append would add a quarter, and copy more often
		list := make([]kept[T], len(p.list), max(2*len(p.list), row+1))
		copy(list, p.list)
		p.list = list
	}
	if row >= len(p.list) {
		p.list = p.list[:row+1]
	}
	k := &p.list[row]
	if k.id != s.ID || int(k.retries) != s.Retries {
		*k = kept[T]{id: s.ID, retries: int32(s.Retries)}
	}
	return &k.value
}

// rowNumber returns the row of s, and gives it one if it has no row.
func (s *Sequence) rowNumber() int {
	if s.row == 0 {
		s.row = 1 + s.rows.take()
	}
	return s.row - 1
}

// slots gives the sequences of a replica their Slot on arrival, and a row in the tables of its
// policies when a policy first stores a value for them. So requests that only wait take no room in
// tables of sequences that run.
type slots struct{ numbers, rows numbers }

// seat gives s, which comes to the replica, a slot.
func (l *slots) seat(s *Sequence) {
	s.rows, s.row, s.Slot = &l.rows, 0, l.numbers.take()
}

// vacate takes back a slot, and a row unless it is 0.
func (l *slots) vacate(slot, row int) {
	l.numbers.put(slot)
	if row > 0 {
		l.rows.put(row - 1)
	}
}

// numbers gives out numbers from 0, the number that came back last first. In use are the numbers in
// [0, given) that are not vacant. Only take and put change it.
type numbers struct {
	given  int   // the least number that was never given out
	vacant []int // numbers that came back, each once
}

func (n *numbers) take() int {
	if k := len(n.vacant) - 1; k >= 0 {
		number := n.vacant[k]
		n.vacant = n.vacant[:k]
		return number
	}
	n.given++
	return n.given - 1
}

func (n *numbers) put(number int) { n.vacant = append(n.vacant, number) }
