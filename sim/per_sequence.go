package sim

// PerSequence holds a value of type T for each sequence of a replica, for use by a policy. The zero
// value is ready for use.
type PerSequence[T any] struct{ list []kept[T] }

// kept is a T for the request that has a slot.
type kept[T any] struct {
	id      int64
	retries int
	value   T
}

// Of returns the value for s, which is the zero value if s is new to the replica. The pointer is
// valid until Of is called for another sequence.
func (p *PerSequence[T]) Of(s *Sequence) *T {
	for s.Slot >= len(p.list) {
		p.list = append(p.list, kept[T]{})
	}
	k := &p.list[s.Slot]
	if k.id != s.ID || k.retries != s.Retries {
		*k = kept[T]{id: s.ID, retries: s.Retries}
	}
	return &k.value
}
