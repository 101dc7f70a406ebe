// Package content names texts by hashes. Runs of tokens with the same text have the same segment ID
// and others never do; equal names of blocks mean equal texts up to the end of the block.
// Workloads, prefix caches, routers and the analysis of traces share these names.
package content

import "github.com/llmsim/llmsim/sim"

// Kind says what sort of text a run is. Runs of different kinds never share an ID.
type Kind uint64

// The kinds of text.
const (
	TraceBlock   Kind = iota // a block of a recorded prompt, by its hash
	TracePrefix              // the shared prefix of recorded prompts, by its number
	SharedPrefix             // the prefix that a group of generated prompts shares
	Question                 // what follows it in a prompt that is sent more than once
	UserMessage              // what a user adds in a turn of a conversation
	Answer                   // the tokens generated in a turn
	Conclusion               // these tokens without thinking
	kinds
)

// ID returns the segment ID of the n-th text of a kind. Below 2^60, different texts get different
// IDs: the packing is one to one, and so is the hash.
func ID(kind Kind, n uint64) uint64 { return Hash(n*uint64(1<<4) + uint64(kind)) }

// Increment is the odd constant by which the state of SplitMix64 grows: 2⁶⁴ over the golden ratio.
const Increment = 0x9e3779b97f4a7c15

// Hash returns what SplitMix64 gives for a state (Steele, Lea and Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014): a bijection that spreads every bit.
func Hash(state uint64) uint64 { return Finish(state + Increment) }

// Finish is the output function alone, also a bijection. It gives 0 for 0.
func Finish(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Cursor is a place in a text that is made of segments. It is Offset tokens into a segment, and
// Before is the hash of the earlier segments. The zero value is the start of every text.
type Cursor struct {
	Segment, Offset int
	Before          uint64
}

// Name names the full block that begins at the cursor. The name identifies its tokens and all
// tokens before it. It is 0 if the text ends before the block does.
func (c Cursor) Name(text []sim.Segment, block int) uint64 {
	if c.Segment == len(text) {
		return 0
	}
	s := &text[c.Segment]
	if s.Tokens-c.Offset >= block {
		return BlockName(c.Before, s.ID, c.Offset)
	}
	name, offset, left := c.Before, c.Offset, block
	for i := c.Segment; i < len(text); i++ {
		n := min(left, text[i].Tokens-offset)
		place := Hash(uint64(offset)<<32 | uint64(n))
		name = Hash(name ^ Hash(text[i].ID^place))
		if left -= n; left == 0 {
			return name
		}
		offset = 0
	}
	return 0
}

// Skip moves the cursor over tokens that the text has.
func (c *Cursor) Skip(text []sim.Segment, tokens int) {
	for tokens > 0 {
		s := &text[c.Segment]
		n := min(tokens, s.Tokens-c.Offset)
		tokens -= n
		if c.Offset += n; c.Offset == s.Tokens {
			*c = Cursor{Segment: c.Segment + 1, Before: After(c.Before, s)}
		}
	}
}

// Left returns the number of tokens of the text from the cursor on.
func (c Cursor) Left(text []sim.Segment) int {
	tokens := -c.Offset
	for i := c.Segment; i < len(text); i++ {
		tokens += text[i].Tokens
	}
	return tokens
}

// After returns the hash of all segments up to s, from the hash of the segments before it.
func After(before uint64, s *sim.Segment) uint64 {
	return Hash(before ^ Hash(s.ID^Hash(uint64(s.Tokens))))
}

// Names appends the names of the full blocks of a text to a list, in order.
func Names(list []uint64, text []sim.Segment, block int) []uint64 {
	var at Cursor
	for {
		name := at.Name(text, block)
		if name == 0 {
			return list
		}
		list = append(list, name)
		at.Skip(text, block)
	}
}

// BlockName names a block that lies in one segment, from the hash of the segments before it.
func BlockName(before, segment uint64, offset int) uint64 {
	return Hash(before ^ Hash(segment^Hash(uint64(offset)<<32)))
}
