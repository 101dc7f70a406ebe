package serve

import (
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// contentBlock is the number of tokens by which prompts are compared: vLLM's block size, the
// smallest of the engines that share whole blocks.
const contentBlock = 16

// segments describes a prompt for prefix caches, a segment for each whole block. A segment's ID is
// a hash of all tokens up to its end, so that equal prefixes have equal segments.
func segments(tokens []text.Token) []sim.Segment {
	list := make([]sim.Segment, 0, len(tokens)/contentBlock)
	name := uint64(0)
	for i, t := range tokens {
		name = hash(name ^ uint64(uint32(t)))
		if (i+1)%contentBlock == 0 {
			list = append(list, sim.Segment{ID: name, Tokens: contentBlock})
		}
	}
	return list
}

// textName returns a hash of all tokens.
func textName(tokens []text.Token) uint64 {
	name := uint64(len(tokens))
	for _, t := range tokens {
		name = hash(name ^ uint64(uint32(t)))
	}
	return name
}

// hash spreads every bit of x (the finaliser of splitmix64: Steele, Lea and Flood, OOPSLA 2014).
func hash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
