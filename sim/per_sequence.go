package sim

// PerSequence holds a value of type T for each sequence of a replica, for use by a policy. The zero
// value is ready for use.
type PerSequence[T any] struct{ list []kept[T] }

// kept is a T for the request that has a slot.
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

// rows gives out the rows of the tables of a replica's policies. A sequence gets a row when a
// policy first keeps something for it, and not when it arrives as with Sequence.Slot. So requests
// that only wait take no room in tables of sequences that run.
type rows struct {
	given  int
	vacant []int // of them, the ones that are free again
}

// rowNumber returns the row of s, and gives it one if it has no row.
func (s *Sequence) rowNumber() int {
	if s.row == 0 {
		if k := len(s.rows.vacant) - 1; k >= 0 {
			s.row, s.rows.vacant = s.rows.vacant[k], s.rows.vacant[:k]
		} else {
			s.rows.given++
			s.row = s.rows.given
		}
	}
	return s.row - 1
}
