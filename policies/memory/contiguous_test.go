package memory

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// contiguousTwin writes down who owns each address, 0 for nobody. It does not choose addresses: it
// checks those chosen.
type contiguousTwin struct {
	t           interface{ Fatalf(string, ...any) }
	reservation Reservation
	buddy       bool
	longest     int
	memory      *Contiguous
	owner       []int64
	pieces      map[int64][2]int
}

func (c *contiguousTwin) clone() twin {
	d := *c
	d.owner, d.pieces = slices.Clone(c.owner), maps.Clone(c.pieces)
	return &d
}

func (c *contiguousTwin) fits(tokens int) bool { return tokens <= c.longest }
func (c *contiguousTwin) units(tokens int) int64 {
	n := tokens
	if c.reservation == ReserveLongest {
		n = c.longest
	}
	return int64(c.piece(n))
}

func (c *contiguousTwin) match(*sim.Sequence) int   { return 0 }
func (c *contiguousTwin) join(*sim.Sequence)        {}
func (c *contiguousTwin) step([]*sim.Sequence) bool { return true }
func (c *contiguousTwin) free(address, size int) bool {
	return address+size <= len(c.owner) && !slices.ContainsFunc(c.owner[address:address+size],
		func(o int64) bool { return o != 0 })
}

func (c *contiguousTwin) used() int64 {
	n := int64(0)
	for _, o := range c.owner {
		if o != 0 {
			n++
		}
	}
	return n
}

// size is what s must get.
func (c *contiguousTwin) size(s *sim.Sequence) int {
	n := c.longest
	switch c.reservation {
	case ReserveExact:
		n = s.Prompt + s.Output - 1
	case ReservePowerOfTwo:
		room := 1
		for room < s.Output {
			room *= 2
		}
		n = min(s.Prompt+room, c.longest)
	}
	return c.piece(n)
}

func (c *contiguousTwin) piece(tokens int) int {
	if !c.buddy {
		return tokens
	}
	piece := 1
	for piece < tokens {
		piece *= 2
	}
	return piece
}

// place is where a piece of that size could go, first of all, or -1.
func (c *contiguousTwin) place(size int) int {
	for at := 0; at+size <= len(c.owner); at++ {
		if c.free(at, size) && (!c.buddy || at%size == 0) {
			return at
		}
	}
	return -1
}

func (c *contiguousTwin) extend(s *sim.Sequence, _ int, reserve int64) bool {
	if _, ok := c.pieces[s.ID]; ok {
		return int64(len(c.owner))-c.used() >= reserve
	}
	size := c.size(s)
	place := c.place(size)
	if place < 0 || int64(len(c.owner))-c.used()-int64(size) < reserve {
		return false
	}
	got := *c.memory.regions.Of(s)
	if got.tokens == 0 {
		return true // which the memory will be blamed for
	}
	if got.tokens != size || !c.free(got.address, size) || !c.buddy && got.address != place ||
		c.buddy && got.address%size != 0 {
		c.t.Fatalf("%d tokens at %d; want %d, at %d if first", got.tokens, got.address, size, place)
	}
	for i := range size {
		c.owner[got.address+i] = s.ID + 1
	}
	c.pieces[s.ID] = [2]int{got.address, size}
	return true
}

func (c *contiguousTwin) release(s *sim.Sequence, _ bool) {
	p := c.pieces[s.ID]
	clear(c.owner[p[0] : p[0]+p[1]])
	delete(c.pieces, s.ID)
}

// Reservations are of the right size, do not overlap, and fail only where no place is left.
func contiguousEqualsTwin(t *rapid.T) {
	tokens := rapid.IntRange(1, 1500).Draw(t, "tokens")
	reservation := rapid.SampledFrom([]Reservation{ReserveLongest, ReservePowerOfTwo,
		ReserveExact}).Draw(t, "reservation")
	buddy := rapid.Bool().Draw(t, "buddy")
	largest := tokens
	if buddy {
		for largest = 1; 2*largest <= tokens; {
			largest *= 2
		}
	}
	longest := rapid.IntRange(1, largest).Draw(t, "longest")
	c, err := NewContiguous(int64(tokens), longest, reservation, buddy)
	testkit.OK(t, err)
	m := machine{
		memory: c,
		twin: &contiguousTwin{t, reservation, buddy, longest, c, make([]int64, tokens),
			map[int64][2]int{}},
		request: drawRequest,
	}
	m.run(t)
}

func TestContiguousEqualsTwin(t *testing.T) { rapid.Check(t, contiguousEqualsTwin) }

func FuzzContiguousEqualsTwin(f *testing.F) { f.Fuzz(rapid.MakeFuzz(contiguousEqualsTwin)) }

// The memory of an A100 of 40 GB beside OPT-13B, 12 GiB at 819,200 B a token, holds seven
// reservations of 2048 tokens: the batch of 7.00 that Kwon et al. measured for Orca (Max), SOSP
// 2023, figure 13a.
func TestContiguousHoldsOrcaMaxBatch(t *testing.T) {
	c, err := NewContiguous(12<<30/819200, 2048, ReserveLongest, true)
	testkit.OK(t, err)
	n := 0
	for c.Extend(&sim.Sequence{Slot: n, Request: sim.Request{Prompt: 1, Output: 1}}, 1, 0) {
		n++
	}
	if n != 7 {
		t.Fatalf("%d reservations, want 7", n)
	}
}

func TestContiguousRefuses(t *testing.T) {
	for _, c := range []struct {
		tokens  int64
		longest int
		want    string
	}{
		{0, 100, "at least 1"},
		{1000, 2048, "largest piece of memory has 512"},
		{1000, 0, "largest piece"},
	} {
		_, err := NewContiguous(c.tokens, c.longest, ReserveLongest, true)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d tokens, contexts of %d: %v, want %q", c.tokens, c.longest, err, c.want)
		}
	}
}

// Pieces that are handed out and free ones cover all addresses, each once, whatever is taken and
// given back; two holes never touch, nor are two free pieces halves of one. When all is given back,
// the space is as it was.
func TestSpacesAreCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.IntRange(1, 300).Draw(t, "tokens")
		b, f := newBuddy(tokens), newFirstFit(tokens)
		var pieces [2]map[int]int // tokens that are handed out, by address
		for i, space := range []space{b, f} {
			pieces[i] = map[int]int{}
			for n := rapid.IntRange(0, 60).Draw(t, "steps"); n >= 0; n-- {
				want := rapid.IntRange(1, space.largest()).Draw(t, "want")
				if address, taken, ok := space.allocate(want); ok {
					pieces[i][address] = taken
				}
				for address, taken := range pieces[i] {
					if n == 0 || rapid.Bool().Draw(t, "free") {
						space.free(address, taken)
						delete(pieces[i], address)
					}
				}
				all := maps.Clone(pieces[i])
				for address, piece := range b.pieces {
					other, free := b.pieces[address^1<<piece.order]
					if address%(1<<piece.order) != 0 || free && other.order == piece.order {
						t.Fatalf("a free piece of order %d at %d", piece.order, address)
					}
					if i == 0 {
						all[address] = 1 << piece.order
					}
				}
				for k, h := range f.holes {
					if h.tokens < 1 ||
						k > 0 && f.holes[k-1].address+f.holes[k-1].tokens >= h.address {
						t.Fatalf("holes %v", f.holes)
					}
					if i == 1 {
						all[h.address] = h.tokens
					}
				}
				at := 0
				for at < tokens && all[at] > 0 {
					at += all[at]
				}
				if at != tokens || len(all) > tokens {
					t.Fatalf("addresses from %d of %d are not covered: %v", at, tokens, all)
				}
			}
		}
		if !maps.Equal(b.pieces, newBuddy(tokens).pieces) ||
			!slices.Equal(f.holes, newFirstFit(tokens).holes) {
			t.Fatalf("%d tokens given back: %v, %v", tokens, b.pieces, f.holes)
		}
	})
}
