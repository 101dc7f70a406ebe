package serve

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

// tokenLogprobs is what a model gives the token that it chose, and the likeliest tokens at that
// place.
type tokenLogprobs struct {
	chosen logprob
	top    []logprob
}

// logprob is a token and the natural logarithm of its probability.
type logprob struct {
	token   text.Token
	logprob float64
}

// logprobsOf returns the log-probabilities of a token among logits, with a number of the likeliest.
func logprobsOf(logits []float32, chosen text.Token, alternatives int) tokenLogprobs {
	highest := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - highest)
	}
	whole := highest + math.Log(sum)
	of := func(t int) logprob { return logprob{text.Token(t), float64(logits[t]) - whole} }
	o := tokenLogprobs{chosen: of(int(chosen))}
	for t := range logits { // an insertion sort: alternatives are few
		if n := len(o.top); n < alternatives || n > 0 && of(t).logprob > o.top[n-1].logprob {
			o.top = append(o.top[:min(n, alternatives-1)], of(t))
			slices.SortStableFunc(o.top, func(a, b logprob) int {
				return cmp.Compare(b.logprob, a.logprob)
			})
		}
	}
	return o
}

// withTexts returns log-probabilities with the texts of their tokens.
func (o *tokenLogprobs) withTexts(piece func(text.Token) string) openai.TokenLogprobs {
	spell := func(o logprob) openai.TokenLogprob {
		return openai.TokenLogprob{Text: piece(o.token), Logprob: o.logprob}
	}
	t := openai.TokenLogprobs{TokenLogprob: spell(o.chosen)}
	for _, other := range o.top {
		t.Top = append(t.Top, spell(other))
	}
	return t
}
