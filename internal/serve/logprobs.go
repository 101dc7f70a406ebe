package serve

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

// logprobsOf returns the log-probabilities of a token among logits, with a number of the likeliest.
// spell returns the text of a token.
func logprobsOf(logits []float32, chosen text.Token, alternatives int,
	spell func(text.Token) string) openai.TokenLogprobs {
	highest := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - highest)
	}
	whole := highest + math.Log(sum)
	of := func(t text.Token) openai.TokenLogprob {
		return openai.TokenLogprob{Text: spell(t), Logprob: float64(logits[t]) - whole}
	}
	var top []text.Token
	for t, v := range logits { // an insertion sort: alternatives are few
		if n := len(top); n < alternatives || n > 0 && v > logits[top[n-1]] {
			top = append(top[:min(n, alternatives-1)], text.Token(t))
			slices.SortStableFunc(top, func(a, b text.Token) int {
				return cmp.Compare(logits[b], logits[a])
			})
		}
	}
	o := openai.TokenLogprobs{TokenLogprob: of(chosen)}
	for _, t := range top {
		o.Top = append(o.Top, of(t))
	}
	return o
}
