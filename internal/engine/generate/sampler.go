package generate

import (
	"errors"
	"fmt"
	"math"
)

// SamplingParams shapes a next-token distribution. The steps are taken in the order temperature,
// top-k, top-p, as in the transformers library.
type SamplingParams struct {
	// Temperature divides the logits; 0 puts all probability on the most likely token (greedy
	// decoding).
	Temperature float64
	// TopK keeps the k most likely tokens, and those as likely as the k-th; 0 keeps all.
	TopK int
	// TopP keeps the most likely tokens whose probabilities reach p together (nucleus sampling,
	// Holtzman et al. 2020, arXiv:1904.09751, section 3.1); 0 and 1 keep all.
	TopP float64
}

// Check reports the first parameter out of range.
func (p SamplingParams) Check() error {
	switch {
	case !(p.Temperature >= 0) || math.IsInf(p.Temperature, 1):
		return fmt.Errorf("temperature %v: it must be at least 0", p.Temperature)
	case p.TopK < 0:
		return fmt.Errorf("top-k %d: it must be at least 0", p.TopK)
	case !(p.TopP >= 0 && p.TopP <= 1):
		return fmt.Errorf("top-p %v: it must be between 0 and 1", p.TopP)
	}
	return nil
}

// ErrNotFinite is returned for logits that are not numbers.
var ErrNotFinite = errors.New("a logit is NaN or infinite: the weights overflow")

// Sampler computes distributions. It keeps scratch space, so it serves one goroutine.
type Sampler struct {
	params SamplingParams
	rest   heap      // tokens not yet known to be kept
	kept   []int32   // the most likely tokens, in descending order
	values []float64 // their probabilities
}

// NewSampler returns a sampler for the given parameters, which must be valid.
func NewSampler(p SamplingParams) (*Sampler, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &Sampler{params: p}, nil
}

// Distribution fills dst, of the length of logits, with the probabilities of the next token; they
// sum to 1.
func (s *Sampler) Distribution(dst []float64, logits []float32) error {
	best, largest := 0, math.Inf(-1)
	for i, v := range logits {
		f := float64(v)
		if f-f != 0 { // NaN or infinite
			return ErrNotFinite
		}
		if f > largest {
			best, largest = i, f
		}
	}
	if s.params.Temperature == 0 {
		clear(dst)
		dst[best] = 1
		return nil
	}
	sum := 0.0
	for i, v := range logits {
		dst[i] = math.Exp((float64(v) - largest) / s.params.Temperature)
		sum += dst[i]
	}
	if s.keepsAll(len(dst)) {
		scale(dst, 1/sum)
	} else {
		s.truncate(dst, sum)
	}
	return nil
}

func (s *Sampler) keepsAll(vocab int) bool {
	return (s.params.TopK == 0 || s.params.TopK >= vocab) &&
		(s.params.TopP == 0 || s.params.TopP == 1)
}

// truncate keeps the most likely tokens of p, whose sum is given, and scales them to sum to 1.
func (s *Sampler) truncate(p []float64, sum float64) {
	s.rest.fill(p)
	s.kept = s.kept[:0]
	if k := s.params.TopK; k > 0 {
		for len(s.rest) > 0 && (len(s.kept) < k || p[s.rest[0]] == p[s.kept[k-1]]) {
			s.kept = append(s.kept, s.rest.pop(p))
		}
		s.rest = s.rest[:0]
		sum = s.sum(p)
	}
	if s.params.TopP > 0 && s.params.TopP < 1 {
		const slack = 1 - 1e-12 // rounding of the sums must not cost a token more
		s.keepMass(p, s.params.TopP*sum*slack)
	}
	total := s.sum(p)
	s.values = s.values[:0]
	for _, t := range s.kept {
		s.values = append(s.values, p[t])
	}
	clear(p)
	for i, t := range s.kept {
		p[t] = s.values[i] / total
	}
}

// keepMass keeps as few tokens as reach the mass together.
func (s *Sampler) keepMass(p []float64, mass float64) {
	total, n := 0.0, 0
	for total < mass {
		if n == len(s.kept) {
			if len(s.rest) == 0 {
				break // rounding
			}
			s.kept = append(s.kept, s.rest.pop(p))
		}
		total += p[s.kept[n]]
		n++
	}
	s.kept = s.kept[:n]
}

func (s *Sampler) sum(p []float64) float64 {
	total := 0.0
	for _, t := range s.kept {
		total += p[t]
	}
	return total
}

func scale(x []float64, f float64) {
	for i := range x {
		x[i] *= f
	}
}

// Draw returns a token drawn from the distribution p, which sums to 1 up to rounding, by inversion:
// u is uniform on [0, 1).
func Draw(p []float64, u float64) int32 {
	last := int32(0)
	for i, v := range p {
		if v > 0 {
			if u < v {
				return int32(i)
			}
			u -= v
			last = int32(i)
		}
	}
	return last // rounding left a rest of u
}

// heap is a binary heap of tokens with the most likely at the root, of equally likely ones the
// lower.
type heap []int32

// fill makes a heap of all tokens of p.
func (h *heap) fill(p []float64) {
	*h = (*h)[:0]
	for i := range p {
		*h = append(*h, int32(i))
	}
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sift(p, i)
	}
}

// pop removes the root and returns it.
func (h *heap) pop(p []float64) int32 {
	old := *h
	root := old[0]
	old[0] = old[len(old)-1]
	*h = old[:len(old)-1]
	h.sift(p, 0)
	return root
}

// sift moves the token at i down to its place.
func (h heap) sift(p []float64, i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && more(p, h[child+1], h[child]) {
			child++
		}
		if !more(p, h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// more reports whether token a comes before token b.
func more(p []float64, a, b int32) bool { return p[a] > p[b] || p[a] == p[b] && a < b }
