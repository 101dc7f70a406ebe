package memory

import "math/bits"

// buddy hands out pieces whose size in tokens is a power of two, each at a multiple of its size. A
// piece that is too large is cut into halves, and two free halves become one piece again (Knuth,
// The Art of Computer Programming, volume 1, section 2.5, algorithms R and S). Between calls, free
// and allocated pieces cover all addresses, each once, and no two free pieces are halves of one. A
// memory whose size is not a power of two consists of several pieces from the start, which are
// never joined. Only allocate and free change it, by push and remove.
type buddy struct {
	pieces map[int]piece // the free pieces by address
	// first has the head of a doubly linked list of the free pieces of each order, the piece that
	// was freed last; or nilPiece. Together the lists have exactly the pieces.
	first []int
}

// piece is a free piece of 2^order tokens, at a multiple of that, and the addresses of its
// neighbours in the list of its order, or nilPiece.
type piece struct{ order, before, behind int }

// nilPiece is no address: the end of a list.
const nilPiece = -1

func newBuddy(tokens int) *buddy {
	b := &buddy{pieces: map[int]piece{}, first: make([]int, bits.Len(uint(tokens)))}
	for i := range b.first {
		b.first[i] = nilPiece
	}
	// The whole is made of the largest possible powers of two, from the start.
	for at := 0; at < tokens; {
		order := bits.Len(uint(tokens-at)) - 1
		b.push(at, order)
		at += 1 << order
	}
	return b
}

func (b *buddy) largest() int { return 1 << (len(b.first) - 1) }

func (b *buddy) piece(tokens int) int { return 1 << order(tokens) }

func (b *buddy) allocate(tokens int) (address, taken int, ok bool) {
	want := order(tokens)
	from := want
	for from < len(b.first) && b.first[from] == nilPiece {
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
	return at, 1 << want, true
}

func (b *buddy) free(address, taken int) {
	at, order := address, order(taken)
	for {
		other := at ^ 1<<order
		if p, free := b.pieces[other]; !free || p.order != order {
			break
		}
		b.remove(other)
		at = min(at, other)
		order++
	}
	b.push(at, order)
}

// order returns the order of the smallest piece that holds the given number of tokens.
func order(tokens int) int { return bits.Len(uint(tokens - 1)) }

// push adds a free piece, which is not there yet.
func (b *buddy) push(at, order int) {
	old := b.first[order]
	b.pieces[at] = piece{order: order, before: nilPiece, behind: old}
	b.setBefore(old, at)
	b.first[order] = at
}

// remove takes out the free piece at an address.
func (b *buddy) remove(at int) {
	p := b.pieces[at]
	delete(b.pieces, at)
	b.setBefore(p.behind, p.before)
	if p.before == nilPiece {
		b.first[p.order] = p.behind
		return
	}
	q := b.pieces[p.before]
	q.behind = p.behind
	b.pieces[p.before] = q
}

// setBefore sets the neighbour before the piece at an address, if it is one.
func (b *buddy) setBefore(at, before int) {
	if at == nilPiece {
		return
	}
	p := b.pieces[at]
	p.before = before
	b.pieces[at] = p
}
