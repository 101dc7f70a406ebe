package speculation

import (
	"cmp"
	"fmt"
	"slices"
)

// Shape is the form of a draft: a chain, or a tree. The branches of a tree are alternatives, and at
// most one path is accepted (SpecInfer: Miao et al., ASPLOS 2024, arXiv:2305.09781, section 3;
// EAGLE-2: Li et al., EMNLP 2024, arXiv:2406.16858, section 4).
type Shape struct {
	// Depth is the largest number of tokens drafted one after another: γ of a chain.
	Depth int
	// Width is the number of candidates after each token, and the number of tokens at each depth
	// that get candidates of their own; 1 makes a chain.
	Width int
	// Nodes is the largest number of tokens to verify; 0 means no bound. The most likely tokens are
	// kept.
	Nodes int
	// Siblings is the probability in [0, 1] that a further candidate is right if the candidates
	// before it are wrong.
	Siblings float64
}

// Draft is a draft of some depth.
type Draft struct {
	// Tokens is the number of drafted tokens to verify.
	Tokens int
	// Expanded is the number of tokens of a sequence that the drafter computes in each of its
	// passes. The first follows the last token of the text.
	Expanded []int
	// Reach holds, for each kind of request, the probability that at least 1, 2, … tokens are
	// accepted.
	Reach [][]float64

	mean float64
}

// node is a token of a tree.
type node struct {
	parent int // index, or −1 for the text before the draft
	depth  int // from 0
	rank   int // among the candidates that follow the same token, from 0
	reach  float64
}

// Drafts returns the drafts of each depth from 0 to s.Depth.
//
// The probability of a token is the product of the probabilities on its path. The first candidate
// has α, and candidate number r has (1 − α)·s·(1 − s)^(r−2) with s = Siblings. So the probability
// depends on rank and depth alone, as in the positional acceptance of Sequoia (Chen et al. 2024,
// arXiv:2402.12374, section 3.1). Paths exclude each other. So the probability to accept i tokens
// is the sum over the nodes of that depth, and the mean number of accepted tokens is the sum over
// all nodes.
func (s Shape) Drafts(a Acceptance) ([]Draft, error) {
	switch {
	case s.Depth < 1 || s.Depth > 64:
		return nil, fmt.Errorf("drafts of %d tokens in a row, want 1 to 64", s.Depth)
	case s.Width < 1 || s.Width > 64:
		return nil, fmt.Errorf("%d candidates a token, want 1 to 64", s.Width)
	case s.Nodes < 0 || s.Nodes > 0 && s.Nodes < s.Depth:
		return nil, fmt.Errorf("%d tokens to verify are fewer than the %d tokens in a row", s.Nodes,
			s.Depth)
	case !(s.Siblings >= 0 && s.Siblings <= 1):
		return nil, fmt.Errorf("siblings: found %v, want 0 to 1", s.Siblings)
	}
	drafts := make([]Draft, s.Depth+1)
	for depth := range drafts {
		drafts[depth] = s.draft(a, depth)
	}
	return drafts, nil
}

// draft returns the draft of one depth: the most likely of the proposed tokens.
func (s Shape) draft(a Acceptance, depth int) Draft {
	nodes, expanded := s.propose(a, depth)
	d := Draft{Tokens: len(nodes), Expanded: expanded}
	verified := make([]bool, len(nodes))
	for i, n := range likeliest(nodes, 0) {
		verified[n] = s.Nodes == 0 || i < s.Nodes
	}
	if s.Nodes > 0 {
		d.Tokens = min(d.Tokens, s.Nodes)
	}
	for _, rates := range a {
		reach, paths := make([]float64, depth), make([]float64, len(nodes))
		for i, n := range nodes {
			if !verified[i] {
				continue
			}
			paths[i] = s.chance(at(rates, n.depth), n.rank)
			if n.parent >= 0 {
				paths[i] *= paths[n.parent]
			}
			reach[n.depth] += paths[i]
		}
		d.Reach = append(d.Reach, reach)
	}
	d.mean = d.Mean()
	return d
}

// propose returns the tokens that the drafter proposes, each after its predecessor, and the number
// of tokens that it computes in each pass. The most likely tokens, by the mean acceptance of all
// requests, get candidates of their own.
func (s Shape) propose(a Acceptance, depth int) (nodes []node, expanded []int) {
	frontier := []int{-1}
	for d := range depth {
		expanded = append(expanded, len(frontier))
		level := len(nodes)
		for _, parent := range frontier {
			for rank := range s.Width {
				reach := s.chance(a.mean(d), rank)
				if parent >= 0 {
					reach *= nodes[parent].reach
				}
				nodes = append(nodes, node{parent: parent, depth: d, rank: rank, reach: reach})
			}
		}
		frontier = likeliest(nodes, level)
		frontier = frontier[:min(s.Width, len(frontier))]
	}
	return nodes, expanded
}

// chance returns the probability of the candidate of a rank, counted from 0, if the first
// candidate's is rate.
func (s Shape) chance(rate float64, rank int) float64 {
	if rank == 0 {
		return rate
	}
	chance := (1 - rate) * s.Siblings
	for range rank - 1 {
		chance *= 1 - s.Siblings
	}
	return chance
}

// likeliest returns the indices of the nodes from the given one on, the most likely first. No token
// comes before its predecessor.
func likeliest(nodes []node, from int) []int {
	order := make([]int, 0, len(nodes)-from)
	for i := from; i < len(nodes); i++ {
		order = append(order, i)
	}
	slices.SortStableFunc(order,
		func(i, j int) int { return cmp.Compare(nodes[j].reach, nodes[i].reach) })
	return order
}

// Mean returns the mean number of tokens that a step with the draft gives to a sequence, including
// the model's own token. It is the harmonic mean over the kinds of requests, since a kind that gets
// fewer tokens takes more steps for the same answer, and so makes up a larger part of a batch.
func (d *Draft) Mean() float64 {
	steps := 0.0
	for kind := range d.Reach {
		steps += 1 / d.MeanOf(kind)
	}
	return float64(len(d.Reach)) / steps
}

// reaches returns the probability that a step accepts n tokens or more. Kinds of requests count by
// their part of a batch, as in Mean.
func (d *Draft) reaches(n int) float64 {
	first := d.Reach[0][n-1]
	chance := first
	for kind := 1; kind < len(d.Reach); kind++ {
		part := d.Mean() / d.MeanOf(kind) / float64(len(d.Reach))
		chance += part * (d.Reach[kind][n-1] - first)
	}
	return chance
}

// MeanOf returns the mean for requests of one kind: 1 + Σ P(at least i accepted).
func (d *Draft) MeanOf(kind int) float64 {
	mean := 1.0
	for _, reach := range d.Reach[kind] {
		mean += reach
	}
	return mean
}
