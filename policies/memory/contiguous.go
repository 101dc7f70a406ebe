package memory

import (
	"fmt"
	"math/bits"

	"github.com/llmsim/llmsim/sim"
)

// Reservation says how much memory a sequence gets when it starts. It gets no more later.
type Reservation int

// The reservations that the vLLM paper compares with (Kwon et al., SOSP 2023, section 6.1).
const (
	// ReserveLongest takes the longest context that is served (Orca, Max).
	ReserveLongest Reservation = iota
	// ReservePowerOfTwo takes the prompt, and the next power of two of the output's true length
	// (Orca, Pow2).
	ReservePowerOfTwo
	// ReserveExact takes exactly what the sequence will need, which only an oracle knows (Orca,
	// Oracle).
	ReserveExact
)

// Contiguous keeps the KV cache of each sequence in one piece, reserved when the sequence starts,
// as engines did before paging. Its unit is a token. Reservations leave holes between them that are
// too small for long ones.
type Contiguous struct {
	reservation Reservation
	space       space
	capacity    int64 // tokens, at least 1
	// used is the sum of region.tokens, 0 <= used <= capacity. Extend and Release change it.
	used    int64
	longest int // tokens of the longest context, 1 <= longest <= space.largest()
	// regions has the reservation of a sequence from its first Extend to Release.
	regions sim.PerSequence[region]
}

// region is the memory of a sequence: its first address and its length, one address a token.
type region struct{ address, tokens int }

// space is a range of addresses from 0, one a token, that is handed out in pieces.
type space interface {
	// allocate returns the address of a piece of at least that many tokens, and the tokens it
	// takes; or false if no piece is left.
	allocate(tokens int) (address, taken int, ok bool)
	// free gives back a piece as allocate returned it.
	free(address, taken int)
	// piece returns the size in tokens of a piece that holds at least that many.
	piece(tokens int) int
	// largest returns the size in tokens of the largest piece when all memory is free.
	largest() int
}

// NewContiguous returns a memory for that many tokens. A context has at most longest tokens; 0
// means no bound except the memory. With buddy, the size of each piece is a power of two (the
// allocator that the vLLM paper gives to Orca). Otherwise a piece comes from the first hole that is
// large enough.
func NewContiguous(tokens int64, longest int, reservation Reservation, buddy bool) (*Contiguous,
	error) {
	if tokens < 1 {
		return nil, fmt.Errorf("KV memory of %d tokens, want at least 1", tokens)
	}
	c := &Contiguous{reservation: reservation, capacity: tokens, space: newFirstFit(int(tokens))}
	if buddy {
		c.space = newBuddy(int(tokens))
	}
	largest := c.space.largest()
	if longest < 1 || longest > largest {
		if reservation == ReserveLongest {
			return nil, fmt.Errorf(
				"each sequence reserves the longest context served, %d tokens, and the largest "+
					"piece of memory has %d; lower max-model-len to that, or reserve by pow2 "+
					"or oracle", longest, largest)
		}
		longest = largest
	}
	c.longest = longest
	return c, nil
}

// Fits implements sim.Memory.
func (c *Contiguous) Fits(tokens int) bool { return tokens <= c.longest }

// Units implements sim.Memory.
func (c *Contiguous) Units(tokens int) int64 {
	if c.reservation == ReserveLongest {
		tokens = c.longest
	}
	return int64(c.space.piece(tokens))
}

// Match implements sim.Memory: nothing is shared.
func (c *Contiguous) Match(*sim.Sequence) int { return 0 }

// Extend implements sim.Memory: a newcomer gets its reservation, the others have theirs.
func (c *Contiguous) Extend(s *sim.Sequence, _ int, reserve int64) bool {
	held := c.regions.Of(s)
	if held.tokens > 0 {
		return c.capacity-c.used >= reserve
	}
	address, taken, ok := c.space.allocate(c.size(s))
	if !ok {
		return false
	}
	if c.capacity-c.used-int64(taken) < reserve {
		c.space.free(address, taken)
		return false
	}
	c.used += int64(taken)
	*held = region{address, taken}
	return true
}

// size returns the tokens that s reserves. The last token's KV is never stored.
func (c *Contiguous) size(s *sim.Sequence) int {
	switch c.reservation {
	case ReservePowerOfTwo:
		return min(s.Prompt+powerOfTwo(s.Output), c.longest)
	case ReserveExact:
		// A replica that only computes prompts may get a request that is longer than its memory.
		return min(s.Prompt+s.Output-1, c.longest)
	}
	return c.longest
}

// powerOfTwo returns the least power of two that is n or more.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Release implements sim.Memory.
func (c *Contiguous) Release(s *sim.Sequence, _ bool) {
	held := c.regions.Of(s)
	c.space.free(held.address, held.tokens)
	c.used -= int64(held.tokens)
	*held = region{}
}

// Join implements sim.Memory.
func (c *Contiguous) Join(int, *sim.Sequence) {}

// Leave implements sim.Memory.
func (c *Contiguous) Leave(int, *sim.Sequence) {}

// Headroom implements sim.Memory. A sequence has all the memory that it will need.
func (c *Contiguous) Headroom(_ int, limit int64) int64 { return limit }

// Growth implements sim.Memory.
func (c *Contiguous) Growth(int, int64) int64 { return 0 }

// AdvanceSums implements sim.SummingMemory.
func (c *Contiguous) AdvanceSums(int, int64) (units, linear, pairs int64) { return 0, 0, 0 }

// Advance implements sim.Memory.
func (c *Contiguous) Advance(int, int64) {}

// Used implements sim.Memory: all that is reserved.
func (c *Contiguous) Used() int64 { return c.used }

// Capacity implements sim.Memory.
func (c *Contiguous) Capacity() int64 { return c.capacity }

// Slots implements sim.SlotMemory.
func (c *Contiguous) Slots() (all, shared int64) { return c.capacity, 0 }

// Room implements sim.SlotMemory. It returns the size that was asked for; what the allocator adds
// to it counts as a hole.
func (c *Contiguous) Room(s *sim.Sequence, _ int) int64 { return int64(c.size(s)) }
