package capacity

import (
	"cmp"
	"slices"
)

// nearerToChosen reports whether option i is nearer to being chosen than option j, which comes
// before it.
func (s *search) nearerToChosen(i, j int) bool {
	rank := func(k int) (int, float64) {
		outcome := &s.outcomes[k]
		switch {
		case outcome.replicas > 0:
			return 0, s.hourly(k)
		case outcome.kind == simulated:
			return 1, -outcome.closest
		case outcome.kind == costsMore || outcome.kind == tooFew:
			return 2, s.leastCost(k)
		case outcome.kind == outOfReach || outcome.kind == broken:
			return 3, -outcome.closest
		}
		return 4, 0
	}
	// Of options that cost as much by their bounds, the one that may serve more is nearer; drafts
	// raise the bound by more than they help.
	serves := func(k int) float64 {
		o := s.options[k]
		return o.Ceiling / o.Servers()[len(o.Servers())-1].Pace.Stride
	}
	rankI, costI := rank(i)
	rankJ, costJ := rank(j)
	return cmp.Or(cmp.Compare(rankI, rankJ), cmp.Compare(costI, costJ),
		-cmp.Compare(serves(i), serves(j))) < 0
}

// sortByNearness sorts options, the nearest to being chosen first.
func (s *search) sortByNearness(list []int) {
	slices.SortStableFunc(list, func(i, j int) int {
		switch {
		case s.nearerToChosen(i, j):
			return -1
		case s.nearerToChosen(j, i):
			return 1
		}
		return 0
	})
}
