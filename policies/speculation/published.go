package speculation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// Published returns the acceptance rates by position of a published drafter. Where mean lengths
// were published, a step with k drafted tokens gives 1 + a₁ + a₁a₂ + … + a₁⋯aₖ tokens, and the
// rates between two of these k are equal.
func Published(h *models.Head) (rates []float64, err error) {
	for word := range strings.FieldsSeq(h.Rates) {
		rate, err := strconv.ParseFloat(word, 64)
		if err != nil || !(rate > 0 && rate <= 1) {
			return nil, fmt.Errorf("%s: found the rate %q; want more than 0, at most 1", h.Name,
				word)
		}
		rates = append(rates, rate)
	}
	length, reached := 1.0, 1.0 // of a draft of len(rates) tokens, and the chance of its last
	for word := range strings.FieldsSeq(h.Lengths) {
		of, mean, _ := strings.Cut(word, ":")
		k, err := strconv.Atoi(of)
		next, problem := strconv.ParseFloat(mean, 64)
		further := k - len(rates)
		more := (next - length) / reached
		if err != nil || problem != nil || further < 1 || !(more > 0 && more <= float64(further)) {
			return nil, fmt.Errorf("%s: found the length %q; want K:LENGTH, of more tokens than "+
				"the one before, each with a chance of at most 1", h.Name, word)
		}
		rate := rateOf(more, further)
		for range further {
			rates = append(rates, rate)
		}
		length, reached = next, reached*math.Pow(rate, float64(further))
	}
	return rates, nil
}

// rateOf returns the rate r in (0, 1] at which r + r² + … + rⁿ is a number of tokens, by bisection.
func rateOf(tokens float64, n int) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		middle := (low + high) / 2
		if ExpectedTokens(middle, n)-1 < tokens {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
