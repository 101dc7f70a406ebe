package speculation

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Acceptance holds the probabilities that drafted tokens are accepted. It lists kinds of requests,
// which are all equally frequent. For each kind it has the probability that the token at each
// position is accepted, given that the tokens before it were. The last position holds for all
// further ones.
type Acceptance [][]float64

// Constant is the same probability alpha in [0, 1] for every token, independent of all other
// tokens, as Leviathan et al. 2023 assume in section 3.1.
func Constant(alpha float64) (Acceptance, error) { return ByPosition([]float64{alpha}) }

// ByPosition is a probability in [0, 1] for each position of the draft.
func ByPosition(rates []float64) (Acceptance, error) {
	if len(rates) == 0 {
		return nil, fmt.Errorf("no acceptance rates; want at least one")
	}
	for i, rate := range rates {
		if !(rate >= 0 && rate <= 1) {
			return nil, fmt.Errorf("the acceptance rate at position %d is %v, want 0 to 1", i+1,
				rate)
		}
	}
	return Acceptance{slices.Clone(rates)}, nil
}

// kinds is the number of kinds of requests that stand for a continuous distribution.
const kinds = 256

// Beta draws the acceptance rate of each request from a Beta distribution with the given mean in
// (0, 1) and standard deviation, since some texts are easier to draft than others. The distribution
// is cut into 256 parts of equal probability, and each request has the mean of one part. Beta
// returns an error for a deviation that is too large, with which nearly all requests accept all
// tokens or no token.
func Beta(mean, std float64) (Acceptance, error) {
	if !(mean > 0 && mean < 1) {
		return nil, fmt.Errorf("the mean acceptance rate is %v, want more than 0 and less than 1",
			mean)
	}
	const narrowest = 0.25 // the smaller parameter of the distribution
	widest := math.Sqrt(mean * (1 - mean) / (1 + narrowest/min(mean, 1-mean)))
	if !(std > 0 && std <= widest) {
		return nil, fmt.Errorf(
			"the standard deviation of the acceptance rate is %v; with a mean of %v it must be "+
				"more than 0 and at most %.3f", std, mean, widest)
	}
	total := mean*(1-mean)/(std*std) - 1
	a, b := total*mean, total*(1-mean)
	acceptance := make(Acceptance, kinds)
	below := 0.0 // the part of the mean that comes from lower rates: mean·F(x; a+1, b)
	for i := range acceptance {
		upTo := mean
		if i < kinds-1 {
			upTo = mean * mathext.RegIncBeta(a+1, b,
				mathext.InvRegIncBeta(a, b, float64(i+1)/kinds))
		}
		acceptance[i] = []float64{min(1, max(0, kinds*(upTo-below)))}
		below = upTo
	}
	return acceptance, nil
}

// mean returns the mean acceptance rate over all kinds of requests at a position, counted from 0.
func (a Acceptance) mean(position int) float64 {
	sum := 0.0
	for _, rates := range a {
		sum += at(rates, position)
	}
	return sum / float64(len(a))
}

// at returns the rate at a position, counted from 0.
func at(rates []float64, position int) float64 { return rates[min(position, len(rates)-1)] }
