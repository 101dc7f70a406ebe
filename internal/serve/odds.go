package serve

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

// odds is what a model gives the token that it chose, and the likeliest tokens at that place.
type odds struct {
	chosen odd
	top    []odd
}

// odd is a token and the natural logarithm of its probability.
type odd struct {
	token   text.Token
	logprob float64
}

// oddsOf returns the odds of a token among logits, with a number of the likeliest.
func oddsOf(logits []float32, chosen text.Token, alternatives int) odds {
	highest := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - highest)
	}
	whole := highest + math.Log(sum)
	of := func(t int) odd { return odd{text.Token(t), float64(logits[t]) - whole} }
	o := odds{chosen: of(int(chosen))}
	for t := range logits { // an insertion sort: alternatives are few
		if n := len(o.top); n < alternatives || n > 0 && of(t).logprob > o.top[n-1].logprob {
			o.top = append(o.top[:min(n, alternatives-1)], of(t))
			slices.SortStableFunc(o.top, func(a, b odd) int {
				return cmp.Compare(b.logprob, a.logprob)
			})
		}
	}
	return o
}

// spelled returns odds with the texts of their tokens.
func (o *odds) spelled(piece func(text.Token) string) openai.Odds {
	spell := func(o odd) openai.Odd {
		return openai.Odd{Text: piece(o.token), Logprob: o.logprob}
	}
	t := openai.Odds{Odd: spell(o.chosen)}
	for _, other := range o.top {
		t.Top = append(t.Top, spell(other))
	}
	return t
}
