package capacity

import (
	"context"
	"math"
)

// Chance is the probability that a number of replicas keeps the SLO, with the spares down.
type Chance struct {
	Replicas    int     `json:"replicas"`
	Probability float64 `json:"probability"`
	// Kept is the share of requests that keep the SLO with the predicted step times.
	Kept float64 `json:"kept"`
}

// few returns the most runs that a probability rests on. Days of a trace differ more than draws of
// one load do, so a trace that is resampled has as many runs as for a decision.
func (s *search) few() int {
	if s.trials.file.Plan.Workload.Resampled() {
		return s.seeds
	}
	return fewSeeds
}

// chances returns how likely the chosen number of replicas keeps the SLO, one fewer and one more.
func (s *search) chances(ctx context.Context) ([]Chance, error) {
	n := s.fates[s.best].replicas
	var list []Chance
	for k := max(1, n-1); k <= n+1; k++ {
		list = append(list, Chance{Replicas: k})
	}
	err := each(ctx, places(len(list)), func(ctx context.Context, place int) (err error) {
		c := &list[place]
		if _, c.Kept, err = s.keeps(ctx, s.chosen(), c.Replicas, 1, s.few()); err == nil {
			c.Probability, err = s.chance(ctx, c.Replicas)
		}
		return err
	})
	return list, err
}

// chance bisects the slowdown up to which n replicas keep the SLO, and returns how likely steps are
// at most that slow, to about two hundredths; 0 and 1 stand for less than 0.015 and more than
// 0.985.
func (s *search) chance(ctx context.Context, n int) (float64, error) {
	const precise, certain = 0.02, 0.015
	p := s.chosen().physics
	low, high := 0.0, 1.0 // of the probability: kept at low, missed at high
	for next := 1 - certain; high-low > precise; next = (low + high) / 2 {
		ok, _, err := s.keeps(ctx, s.chosen(), n, math.Round(p.quantile(next)*1e4)/1e4, s.few())
		switch {
		case err != nil:
			return 0, err
		case ok && next == 1-certain:
			return 1, nil
		case ok:
			low = next
		case next == 1-certain:
			high = next
			if ok, _, err = s.keeps(ctx, s.chosen(), n, math.Round(p.quantile(certain)*1e4)/1e4,
				s.few()); err != nil || !ok {
				return 0, err
			}
			low = certain
		default:
			high = next
		}
	}
	return math.Round(100*(low+high)/2) / 100, nil
}
