package speculation

import (
	"fmt"
	"slices"
)

// NGram proposes what followed the last occurrence of the last few tokens in the text so far:
// prompt look-up decoding (Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding; also Yang et
// al. 2023, arXiv:2304.04487). It costs next to nothing and pays where an answer quotes its prompt.
type NGram struct {
	// Longest and Shortest bound the number of tokens that must match, 1 ≤ Shortest ≤ Longest;
	// longer matches are tried first.
	Longest, Shortest int
}

// Draft implements Drafter.
func (g NGram) Draft(streams []*Stream) error {
	for _, s := range streams {
		for _, token := range g.lookUp(s.Tokens(), s.Want) {
			s.Drafted = append(s.Drafted, token)
			s.Distributions = append(s.Distributions, nil)
		}
	}
	return nil
}

// Forget implements Drafter.
func (g NGram) Forget(*Stream) {}

// Name implements Drafter.
func (g NGram) Name() string { return fmt.Sprintf("ngram-%d-%d", g.Shortest, g.Longest) }

// lookUp returns up to n tokens that followed an earlier occurrence of the longest matching end of
// tokens: the latest occurrence that n tokens follow, or else the one that most do.
func (g NGram) lookUp(tokens []int32, n int) []int32 {
	for length := min(g.Longest, len(tokens)-1); length >= max(g.Shortest, 1); length-- {
		end := tokens[len(tokens)-length:]
		var best []int32
		for at := len(tokens) - length - 1; at >= 0 && len(best) < n; at-- {
			if slices.Equal(tokens[at:at+length], end) {
				follow := tokens[at+length:]
				best = follow[:min(n, len(follow))]
			}
		}
		if len(best) > 0 {
			return best
		}
	}
	return nil
}
