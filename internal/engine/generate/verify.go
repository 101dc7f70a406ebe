package generate

import (
	"fmt"
	"math/rand/v2"
)

// Algorithm is a way to decide how many drafted tokens are accepted, once the target model has
// computed its own distributions for all of them in one pass. With each, the text has exactly the
// target's distribution; the algorithms differ in the order in which they use random numbers
// (Leviathan, Kalman and Matias 2023, arXiv:2211.17192; Chen et al. 2023, arXiv:2302.01318).
type Algorithm uint8

// The two published algorithms.
const (
	// Leviathan draws the random numbers of all drafted tokens first and cuts at the first that
	// fails (algorithm 1).
	Leviathan Algorithm = iota
	// Chen goes from token to token and stops at the first that is rejected (algorithm 2).
	Chen
)

// ParseAlgorithm returns the algorithm called leviathan or chen.
func ParseAlgorithm(name string) (Algorithm, error) {
	for a := Leviathan; a <= Chen; a++ {
		if name == a.String() {
			return a, nil
		}
	}
	return 0, fmt.Errorf("unknown algorithm %q: leviathan and chen are known", name)
}

// String returns the name that ParseAlgorithm takes.
func (a Algorithm) String() string { return [...]string{"leviathan", "chen"}[a] }

// Verify decides about drafted tokens. target[i] is the target's distribution of the token at the
// place of drafted[i], and target[len(drafted)] the distribution of the token after them; draft[i]
// is the distribution that drafted[i] was drawn from, or nil where the proposer was certain. It
// returns how many tokens are accepted and the token that follows them. target is overwritten.
func (a Algorithm) Verify(target, draft [][]float64, drafted []int32, rng *rand.Rand) (accepted int,
	next int32) {
	if a == Leviathan {
		accepted = acceptAtOnce(target, draft, drafted, rng)
	} else {
		accepted = acceptInTurn(target, draft, drafted, rng)
	}
	p := target[accepted]
	if accepted < len(drafted) {
		residual(p, draft[accepted], drafted[accepted])
	}
	return accepted, Draw(p, rng.Float64())
}

// acceptAtOnce is the determination of n in algorithm 1 of Leviathan et al.: n = min({i−1 : rᵢ >
// pᵢ(x)/qᵢ(x)} ∪ {γ}).
func acceptAtOnce(target, draft [][]float64, drafted []int32, rng *rand.Rand) int {
	n := len(drafted)
	for i := range drafted {
		if r := rng.Float64(); r >= ratio(target[i], draft[i], drafted[i]) {
			n = min(n, i)
		}
	}
	return n
}

// acceptInTurn is the loop of algorithm 2 of Chen et al.: accept while r < min(1, q(x)/p(x)), in
// their letters.
func acceptInTurn(target, draft [][]float64, drafted []int32, rng *rand.Rand) int {
	for i := range drafted {
		if r := rng.Float64(); r >= ratio(target[i], draft[i], drafted[i]) {
			return i
		}
	}
	return len(drafted)
}

// ratio returns p(x)/q(x), where q is certain of x if it is nil.
func ratio(p, q []float64, x int32) float64 {
	if q == nil {
		return p[x]
	}
	return p[x] / q[x]
}

// residual replaces p by the distribution after a rejection of x, norm(max(0, p − q)) (Leviathan et
// al., section 2.3; Chen et al., equation 2).
func residual(p, q []float64, x int32) {
	total := 0.0
	for i := range p {
		total += p[i] - common(p, q, x, i)
	}
	if total <= 0 {
		return // p and q are equal up to rounding, and so is the rest
	}
	for i := range p {
		p[i] = (p[i] - common(p, q, x, i)) / total
	}
}

// common returns min(p, q) at token i, where q is certain of x if it is nil.
func common(p, q []float64, x int32, i int) float64 {
	switch {
	case q != nil:
		return min(p[i], q[i])
	case i == int(x):
		return p[i]
	}
	return 0
}
