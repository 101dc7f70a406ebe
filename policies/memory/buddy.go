package memory

import "math/bits"

// buddyUnit is the size of the smallest pieces, in tokens.
const buddyUnit = 16

// buddy hands out pieces of a power of two units, each at a multiple of its size. A piece that is too large is cut in halves; two
// free halves become one again (Knuth, The Art of Computer Programming, volume 1, section 2.5, algorithms R and S).
type buddy struct {
	pieces []piece // by address in units; what a free piece begins at tells of it
	first  []int32 // by order, the free piece returned last, or none
}

// piece is a free piece of 2^order units and its neighbours in the list of its order; its order is none where no free piece begins.
type piece struct {
	before, behind int32
	order          int8
}

const none = -1

func newBuddy(tokens int) *buddy {
	units := tokens / buddyUnit
	b := &buddy{pieces: make([]piece, units), first: make([]int32, bits.Len(uint(units)))}
	for i := range b.pieces {
		b.pieces[i].order = none
	}
	for i := range b.first {
		b.first[i] = none
	}
	// The largest powers of two that make up the whole, from the start.
	for at := 0; at < units; {
		order := bits.Len(uint(units-at)) - 1
		b.push(int32(at), order)
		at += 1 << order
	}
	return b
}

func (b *buddy) largest() int {
	if len(b.first) == 0 {
		return 0
	}
	return buddyUnit << (len(b.first) - 1)
}

func (b *buddy) piece(tokens int) int { return buddyUnit << order(tokens) }

func (b *buddy) allocate(tokens int) (address, taken int, ok bool) {
	want := order(tokens)
	from := want
	for from < len(b.first) && b.first[from] == none {
		from++
	}
	if from >= len(b.first) {
		return 0, 0, false
	}
	at := b.first[from]
	b.remove(at)
	for from > want {
		from--
		b.push(at+1<<from, from)
	}
	return int(at) * buddyUnit, buddyUnit << want, true
}

func (b *buddy) free(address, taken int) {
	at, order := int32(address/buddyUnit), order(taken)
	for {
		other := at ^ 1<<order
		if int(other) >= len(b.pieces) || int(b.pieces[other].order) != order {
			break
		}
		b.remove(other)
		at = min(at, other)
		order++
	}
	b.push(at, order)
}

// order returns the order of the smallest piece for so many tokens.
func order(tokens int) int { return bits.Len(uint((tokens - 1) / buddyUnit)) }

func (b *buddy) push(at int32, order int) {
	old := b.first[order]
	b.pieces[at] = piece{before: none, behind: old, order: int8(order)}
	if old != none {
		b.pieces[old].before = at
	}
	b.first[order] = at
}

func (b *buddy) remove(at int32) {
	p := &b.pieces[at]
	if p.before == none {
		b.first[p.order] = p.behind
	} else {
		b.pieces[p.before].behind = p.behind
	}
	if p.behind != none {
		b.pieces[p.behind].before = p.before
	}
	p.order = none
}
