package capacity

import (
	"context"
	"math"
)

// settleSeeds is the number of runs of a whole fleet whose requests are pooled for a decision.
const settleSeeds = 2

// mostSteps bounds how far the number of replicas moves from what one replica suggests.
const mostSteps = 8

// Chance is how likely a number of replicas keeps the SLO, spares down.
type Chance struct {
	Replicas    int     `json:"replicas"`
	Probability float64 `json:"probability"`
	// Kept is the share of requests that keep the SLO with the predicted step times.
	Kept float64 `json:"kept"`
}

// keeps reports whether a fleet of n replicas, spares down, keeps the SLO where steps take slowdown times what is predicted, over
// the pooled requests of several seeds, and the share of requests that do.
func (s *search) keeps(ctx context.Context, n int, slowdown float64) (bool, float64, error) {
	kept, target := 0.0, 0.0
	for seed := range settleSeeds {
		t, _, err := s.whole(ctx, n, slowdown, uint64(seed))
		if err != nil {
			return false, 0, err
		}
		if t.Growing {
			return false, t.All, nil
		}
		kept, target = kept+t.All/settleSeeds, t.Target
	}
	return kept >= target-1e-12, kept, nil
}

// settleBest sizes the best fleet as a fleet, and then those of other options that would be cheaper at the number of replicas that is
// known of them, until the best is settled.
func (s *search) settleBest(ctx context.Context) error {
	for settled := map[int]bool{}; !settled[s.best]; {
		if err := s.settle(ctx); err != nil {
			return err
		}
		settled[s.best] = true
		best := s.best
		for i := range s.options {
			if n := s.fates[i].replicas; n > 0 && s.beats(s.options[i], n) {
				s.best = i
			}
		}
		if s.best != best {
			s.fates[best].kind, s.fates[s.best].kind = simulated, chosen
			s.fates[best].words, s.fates[s.best].words = "another costs less", ""
		}
	}
	return nil
}

// settle finds the smallest fleet that keeps the SLO with the asked confidence, from the number of replicas that one replica
// suggests: a fleet shares its requests more evenly than chance does, and a router may do better or worse.
func (s *search) settle(ctx context.Context) error {
	o, fate := s.chosen(), &s.fates[s.best]
	slow := o.physics.slowdown(s.trials.file.Plan.Effort.Confidence)
	ok, _, err := s.keeps(ctx, fate.replicas, slow)
	if err != nil {
		return err
	}
	down := ok
	for range mostSteps {
		next := fate.replicas + 1
		if down {
			next = fate.replicas - 1
		}
		if next < 1 || !available(o, next+s.spare) {
			return nil
		}
		if ok, _, err = s.keeps(ctx, next, slow); err != nil {
			return err
		}
		if down && !ok {
			return nil
		}
		fate.replicas = next
		if !down && ok {
			return nil
		}
	}
	return nil
}

// chances returns how likely the chosen number of replicas keeps the SLO, one fewer and one more.
func (s *search) chances(ctx context.Context) ([]Chance, error) {
	var list []Chance
	n := s.fates[s.best].replicas
	for k := max(1, n-1); k <= n+1; k++ {
		_, kept, err := s.keeps(ctx, k, 1)
		if err != nil {
			return nil, err
		}
		p, err := s.chance(ctx, k)
		if err != nil {
			return nil, err
		}
		list = append(list, Chance{k, p, kept})
	}
	return list, nil
}

// chance bisects the slowdown up to which n replicas keep the SLO, and returns how likely steps are at most that slow, to about a
// hundredth.
func (s *search) chance(ctx context.Context, n int) (float64, error) {
	const precise = 0.01
	p := s.chosen().physics
	low, high := 0.0, 1.0 // of the probability: kept at low, missed at high
	for high-low > precise {
		middle := (low + high) / 2
		ok, _, err := s.keeps(ctx, n, math.Round(p.quantile(middle)*1e4)/1e4)
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Round(100*(low+high)/2) / 100, nil
}
