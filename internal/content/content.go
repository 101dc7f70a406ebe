// Package content names texts by hashes. Runs of tokens with the same text have the same segment ID
// and others never do; equal names of blocks mean equal texts up to the end of the block.
// Workloads, prefix caches, routers and the analysis of traces share these names.
package content

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
	Conclusion               // these tokens without those of thinking
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
