// Package content names runs of tokens, so that prompts that repeat a text carry the same segment
// ID and others never do.
package content

import "github.com/llmsim/llmsim/internal/splitmix"

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
func ID(kind Kind, n uint64) uint64 { return splitmix.Hash(n*uint64(1<<4) + uint64(kind)) }
