// Package content names runs of tokens, so that prompts that repeat a text carry the same segment
// ID and others never do.
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
// IDs: the packing is one to one, and so is Mix.
func ID(kind Kind, n uint64) uint64 { return Mix(n*uint64(1<<4) + uint64(kind)) }

// Mix scrambles 64 bits, one to one (the finalizer of SplitMix64; Steele, Lea and Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
