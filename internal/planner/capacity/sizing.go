package capacity

import (
	"context"
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

// answer finds the best option and sizes it as a fleet. An option whose fleets all miss the SLO,
// although one replica suggests it, is left out, and the search begins again.
func (s *search) answer(ctx context.Context) error {
	for {
		if err := s.run(ctx); err != nil || s.best < 0 {
			return err
		}
		if kept, err := s.sizeBest(ctx); kept || err != nil {
			return err
		}
		if s.missing == nil {
			s.missing = map[int]outcome{}
		}
		s.missing[s.best] = outcome{kind: simulated, closest: s.outcomes[s.best].closest,
			words: "one replica sustains its share, but no fleet keeps the SLO over several runs"}
		s.outcomes = nil
	}
}

// sizeBest finds the size of the best option by simulating whole fleets. Then it tries each other
// option as the largest fleet that costs less, unless a bound excludes it. It reports whether a
// fleet of the best option keeps the SLO.
func (s *search) sizeBest(ctx context.Context) (bool, error) {
	tried := map[int]bool{}
	for next := s.best; next >= 0; next = s.nextCheaper(tried) {
		tried[next] = true
		if s.options[next].Scaled() { // sized as a fleet from the start
			if next != s.best {
				if err := s.try(ctx, next); err != nil {
					return false, err
				}
			}
			continue
		}
		if next != s.best {
			if won, _, err := s.beatsBest(ctx, next, s.mostWorthwhile(next)); err != nil {
				return false, err
			} else if !won {
				continue
			}
		}
		if kept, err := s.sizeFleet(ctx); err != nil || !kept {
			return false, err
		}
	}
	return true, nil
}

// beatsBest simulates n replicas of option i whole, and makes them the best if they keep the SLO.
// Missing is by how much the share of requests that keep it is below its target.
func (s *search) beatsBest(ctx context.Context, i, n int) (ok bool, missing float64, err error) {
	o := s.options[i]
	d, err := s.Decide(ctx, o, n, o.Worst())
	if err != nil {
		return false, 0, err
	}
	s.tried(i).Note(n)
	if d.Kept {
		s.outcomes[i].replicas = n
		s.outcomes[s.best].words = "another costs less"
		s.makeBest(i)
	}
	return d.Kept, d.Missing, nil
}

// nextCheaper returns an option that was not tried yet and might cost less than the best, or -1 if
// there is no such option.
func (s *search) nextCheaper(tried map[int]bool) int {
	for i, o := range s.options {
		if o.Scaled() {
			if !tried[i] && s.openScaled(i) {
				return i
			}
			continue
		}
		if s.mayBeatBest(i) && !tried[i] && s.mostWorthwhile(i) >= s.Fewest(s.options[i]) {
			return i
		}
	}
	return -1
}

// mayBeatBest reports whether an option may keep the SLO as a fleet that costs less than the best,
// whatever one replica showed: a fleet shares its requests more evenly than chance does.
func (s *standing) mayBeatBest(i int) bool {
	kind := s.outcomes[i].kind
	return kind == simulated || kind == costsMore || s.outcomes[i].replicas > 0
}

// mostWorthwhile returns the largest number of replicas with which an option beats the best; 0 if
// no number does.
func (s *standing) mostWorthwhile(i int) int {
	o := s.options[i]
	n := min(s.Most(o), int(o.Affordable(s.cost()))-s.Spare+1)
	for n > 0 && !s.beats(o, n) {
		n--
	}
	return n
}

// sizeFleet finds the smallest fleet that keeps the SLO with the asked confidence, and reports
// whether there is one.
func (s *search) sizeFleet(ctx context.Context) (bool, error) {
	outcome := &s.outcomes[s.best]
	n, err := s.smallest(ctx, s.best, outcome.replicas, func(n int, kept float64) {
		s.tried(s.best).Note(n)
		outcome.closest = max(outcome.closest, kept)
	})
	if err != nil || n == 0 {
		return false, err
	}
	s.replicaShare = float64(n) / float64(outcome.replicas)
	outcome.replicas = n
	return true, nil
}

// smallest returns the least number of replicas of option i that keep the SLO with the asked
// confidence; 0 without one. It begins with the n that one replica suggests: a fleet shares its
// requests more evenly than chance does, and a router may do better or worse. From there it moves
// by steps that double, and bisects the last one, so that one replica fewer is known to miss it.
// The number of a large fleet, or of a fleet that is shown beside the answer, is found to one in a
// hundred, and of one that is both, to one in fifty. Each number is noted with the share of
// requests that keep the SLO.
func (s *search) smallest(ctx context.Context, i, n int, note func(n int, kept float64)) (int,
	error) {
	o := s.options[i]
	most := max(n, s.Most(o))
	if s.replicaShare > 0 {
		n = min(max(1, int(math.Round(s.replicaShare*float64(n)))), most)
	}
	l := judge.Least{First: n, Low: o.Based(), Most: most, Step: s.Step(o, n), Near: s.Step(o,
		n)}
	if s.Trials.Rough {
		l.Near += n / judge.Finest
	}
	return l.Find(func(n int) (bool, error) {
		ok, kept, err := s.Keeps(ctx, o, n, o.Worst(), s.Seeds)
		if err == nil {
			note(n, kept)
		}
		return ok, err
	})
}
