package sim

// list is a list of sequences whose links are in the sequences themselves. A sequence is in at most
// one list of each kind.
type list struct {
	first, last *Sequence
	kind        listKind
}

// listKind says which links of a sequence a list uses.
type listKind uint8

const (
	queued   listKind = iota // sequences that wait, in a Queue
	batched                  // sequences in a batch, or that keep their memory outside of one
	resident                 // the requests of a replica
	listKinds
)

// links are the neighbours of a sequence in a list.
type links struct{ before, behind *Sequence }

// insert adds s before next, which is in l, or at the end where next is nil.
func (l *list) insert(s, next *Sequence) {
	at := &s.links[l.kind]
	at.before, at.behind = l.last, next
	if next == nil {
		l.last = s
	} else {
		at.before = next.links[l.kind].before
		next.links[l.kind].before = s
	}
	if at.before == nil {
		l.first = s
	} else {
		at.before.links[l.kind].behind = s
	}
}

// remove takes s, which is in l, out of it.
func (l *list) remove(s *Sequence) {
	at := &s.links[l.kind]
	if at.before == nil {
		l.first = at.behind
	} else {
		at.before.links[l.kind].behind = at.behind
	}
	if at.behind == nil {
		l.last = at.before
	} else {
		at.behind.links[l.kind].before = at.before
	}
	*at = links{}
}

// decoding yields the sequences of l that decode, in order.
func (l *list) decoding(yield func(*Sequence) bool) {
	for s := l.first; s != nil; s = s.links[l.kind].behind {
		if s.decoding && !yield(s) {
			return
		}
	}
}
