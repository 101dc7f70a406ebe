package memory

import (
	"github.com/llmsim/llmsim/internal/splitmix"
	"github.com/llmsim/llmsim/sim"
)

// cursor is a place in a text that is made of segments. It is offset tokens into a segment, and
// before is the hash of the earlier segments. The zero value is the start of every text.
type cursor struct {
	segment, offset int
	before          uint64
}

// run describes the full blocks that begin at the cursor: all blocks within the same segment, or
// the one that reaches over its end. The name of the first block stands for its tokens and all
// tokens before it, so that equal names mean equal texts. There are no blocks if the text ends
// before the block does.
func (c cursor) run(text []sim.Segment, block int) (first uint64, blocks int) {
	if c.segment == len(text) {
		return 0, 0
	}
	s := &text[c.segment]
	if n := (s.Tokens - c.offset) / block; n > 0 {
		return blockName(c.before, s.ID, c.offset), n
	}
	name, offset, left := c.before, c.offset, block
	for i := c.segment; i < len(text); i++ {
		n := min(left, text[i].Tokens-offset)
		place := splitmix.Hash(uint64(offset)<<32 | uint64(n))
		name = splitmix.Hash(name ^ splitmix.Hash(text[i].ID^place))
		if left -= n; left == 0 {
			return name, 1
		}
		offset = 0
	}
	return 0, 0
}

// skip moves the cursor over tokens that the text has.
func (c *cursor) skip(text []sim.Segment, tokens int) {
	for tokens > 0 {
		s := &text[c.segment]
		n := min(tokens, s.Tokens-c.offset)
		tokens -= n
		if c.offset += n; c.offset == s.Tokens {
			c.before = splitmix.Hash(c.before ^ splitmix.Hash(s.ID^splitmix.Hash(uint64(s.Tokens))))
			c.segment, c.offset = c.segment+1, 0
		}
	}
}

// blockName names a block that lies in one segment, from the hash of the segments before it.
func blockName(before, segment uint64, offset int) uint64 {
	return splitmix.Hash(before ^ splitmix.Hash(segment^splitmix.Hash(uint64(offset)<<32)))
}
