package engine

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// text returns the first n tokens of a request's text, prompt and answer.
func text(r *sim.Request, n, vocab int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = token(r, i, vocab)
	}
	return tokens
}

// token returns the token at position i of a request's text. It depends on the segment that the
// position lies in, and on the request alone outside of all.
func token(r *sim.Request, i, vocab int) int32 {
	if i >= r.Prompt && r.Answer != 0 {
		return mix(r.Answer, i-r.Prompt, vocab)
	}
	rest := i
	for _, segment := range r.Content {
		if rest < segment.Tokens {
			return mix(segment.ID, rest, vocab)
		}
		rest -= segment.Tokens
	}
	const unshared = 1 << 63 // keeps requests' numbers apart from those of segments
	return mix(uint64(r.ID)|unshared, i, vocab)
}

// mix hashes an identity and a place to a token.
func mix(id uint64, i, vocab int) int32 {
	return int32(content.Finish(id*content.Increment+uint64(i)) % uint64(vocab))
}
