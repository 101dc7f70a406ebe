package capacity

import (
	"context"
	"math"

	"github.com/llmsim/llmsim/internal/planner/stats"
)

// The runs of a whole fleet whose requests are pooled: two for a probability that is shown, and up
// to twelve for a decision, until the interval of the share that keeps the SLO is clear of its
// target, or that many requests are pooled.
const (
	fewSeeds   = 2
	mostSeeds  = 12
	mostPooled = 200_000
)

// keeps reports whether a fleet of n replicas of o, spares down, keeps the SLO where predictions
// are wrong by some factors, over the pooled requests of at most that many seeds, and the share of
// requests that do.
func (s *search) keeps(ctx context.Context, o *option, n int, wrong off, seeds int) (bool,
	float64, error) {
	if _, taken := o.interrupted(); taken {
		t, err := s.withstands(ctx, o, n, s.rate, wrong)
		return t.kept(), t.Kept.Mean, err
	}
	runs, ok, err := s.pool(ctx, o, n, wrong, seeds)
	if err != nil {
		return false, 0, err
	}
	return ok, sharePooled(runs).Mean, nil
}

// decision is whether a fleet keeps the SLO. It is sure where the share of requests that do is
// clear of its target, or latencies grow, and the fleet is far from it where the share is below the
// target by more than farBelow.
type decision struct {
	kept, sure, far bool
	share           float64
}

const farBelow = 0.05

// decide is keeps over as many seeds as a decision takes.
func (s *search) decide(ctx context.Context, o *option, n int, wrong off) (decision, error) {
	if _, taken := o.interrupted(); taken {
		ok, share, err := s.keeps(ctx, o, n, wrong, s.seeds)
		return decision{kept: ok, sure: true, share: share}, err
	}
	runs, ok, err := s.pool(ctx, o, n, wrong, s.seeds)
	if err != nil {
		return decision{}, err
	}
	last, share := &runs[len(runs)-1], sharePooled(runs)
	return decision{kept: ok, share: share.Mean, far: share.Mean < last.Target-farBelow,
		sure: last.Growing || runs[0].hopeless() || share.Excludes(last.Target)}, nil
}

// pool simulates a fleet with one seed after another until it is clear whether it keeps the SLO,
// and returns the runs. The fleet misses the SLO if latencies grow in one of the runs, or if a
// second run without a miss would not make up for the requests of the first that miss it.
func (s *search) pool(ctx context.Context, o *option, n int, wrong off,
	seeds int) (runs []trial, kept bool, err error) {
	seeds = s.trials.file.Plan.Seeds(seeds)
	var all [][]clause
	var requests int64
	for seed := range seeds {
		t, file, err := s.whole(ctx, o, n, wrong, uint64(seed))
		if err != nil {
			return nil, false, err
		}
		if runs = append(runs, t); t.Growing || seed == 0 && t.hopeless() {
			return runs, false, nil
		}
		all = append(all, t.Clauses)
		requests += file.Scenario.Workload.Requests
		g := binding(pooled(all))
		if seed+1 == seeds || seed+1 >= fewSeeds &&
			(g.Kept.Excludes(g.Target) || requests >= mostPooled) {
			return runs, g.Kept.Mean >= g.Target-1e-12, nil
		}
	}
	return runs, false, nil
}

// hopeless reports whether a second run as long, all of whose requests keep the SLO, would not make
// up for the requests that miss it.
func (t *trial) hopeless() bool { return (t.Kept.Mean+1)/2 < t.Target-1e-12 }

// sharePooled returns the share of the requests of some runs that keep the part of the SLO that
// binds: of the last run where latencies grow in it.
func sharePooled(runs []trial) stats.Interval {
	var all [][]clause
	for i := range runs {
		if runs[i].Growing {
			return runs[i].Kept
		}
		all = append(all, runs[i].Clauses)
	}
	return binding(pooled(all)).Kept
}

// answer finds the best option and sizes it as a fleet. An option of which no fleet keeps the SLO,
// although one replica suggests it, is left out, and the search begins again.
func (s *search) answer(ctx context.Context) error {
	for {
		if err := s.run(ctx); err != nil || s.best < 0 {
			return err
		}
		if kept, err := s.settleBest(ctx); kept || err != nil {
			return err
		}
		if s.missing == nil {
			s.missing = map[int]fate{}
		}
		s.missing[s.best] = fate{kind: simulated, closest: s.fates[s.best].closest,
			words: "one replica sustains its share, but no fleet keeps the SLO over several runs"}
		s.fates = nil
	}
}

// settleBest finds the size of the best option by simulating whole fleets. Then it tries each other
// option as the largest fleet that costs less, unless a bound excludes it. It reports whether a
// fleet of the best option keeps the SLO.
func (s *search) settleBest(ctx context.Context) (bool, error) {
	tried := map[int]bool{}
	for next := s.best; next >= 0; next = s.challenger(tried) {
		tried[next] = true
		if s.options[next].scaled() { // sized as a fleet from the start
			if next != s.best {
				if err := s.try(ctx, next); err != nil {
					return false, err
				}
			}
			continue
		}
		fate := &s.fates[next]
		if next != s.best {
			ok, _, err := s.keeps(ctx, s.options[next], s.worth(next), s.pessimism(next), s.seeds)
			if err != nil {
				return false, err
			}
			s.looked(next).note(s.worth(next))
			if !ok {
				continue
			}
			fate.replicas = s.worth(next)
			s.fates[s.best].words = "another costs less"
			s.crown(next)
		}
		if kept, err := s.settle(ctx); err != nil || !kept {
			return false, err
		}
	}
	return true, nil
}

// challenger returns an option that was not tried yet and might cost less than the best, or -1 if
// there is none.
func (s *search) challenger(tried map[int]bool) int {
	for i, o := range s.options {
		if o.scaled() {
			if !tried[i] && s.openScaled(i) {
				return i
			}
			continue
		}
		if s.open(i) && !tried[i] && s.worth(i) >= s.fewest(s.options[i]) {
			return i
		}
	}
	return -1
}

// open reports whether an option may keep the SLO as a fleet that costs less than the best,
// whatever one replica showed: a fleet shares its requests more evenly than chance does.
func (s *search) open(i int) bool {
	kind := s.fates[i].kind
	return kind == simulated || kind == costsMore || s.fates[i].replicas > 0
}

// worth returns the largest number of replicas with which an option beats the best; 0 if none does.
func (s *search) worth(i int) int {
	o := s.options[i]
	n := min(s.most(o), int(s.cost()/o.price)-s.spare+1)
	for n > 0 && !s.beats(o, n) {
		n--
	}
	return n
}

// pessimism returns the errors under which an option must keep the SLO.
func (s *search) pessimism(i int) off { return s.options[i].worst() }

// settle finds the smallest fleet that keeps the SLO with the asked confidence, and reports whether
// there is one.
func (s *search) settle(ctx context.Context) (bool, error) {
	fate := &s.fates[s.best]
	n, err := s.smallest(ctx, s.best, fate.replicas, func(n int, kept float64) {
		s.looked(s.best).note(n)
		fate.closest = max(fate.closest, kept)
	})
	if err != nil || n == 0 {
		return false, err
	}
	s.lean = float64(n) / float64(fate.replicas)
	fate.replicas = n
	return true, nil
}

// smallest returns the least number of replicas of option i that keep the SLO with the asked
// confidence; 0 where there is none. It begins with the n that one replica suggests: a fleet shares
// its requests more evenly than chance does, and a router may do better or worse. From there it
// moves by steps that double, and bisects the last one, so that one replica fewer is known to miss
// it. What is told beside the answer is found to one in a hundred. Each number is noted with the
// share of requests that keep the SLO.
func (s *search) smallest(ctx context.Context, i, n int, note func(n int, kept float64)) (int,
	error) {
	o := s.options[i]
	most, near := max(n, s.most(o)), 1
	if s.lean > 0 {
		n = min(max(1, int(math.Round(s.lean*float64(n)))), most)
	}
	if s.trials.rough {
		near += n / 100
	}
	low, high := 0, most+1 // the SLO is missed with low, and kept with high up to most
	for step := 1; high-low > near || high > most && high-low > 1; step *= 2 {
		ok, kept, err := s.keeps(ctx, o, n, s.pessimism(i), s.seeds)
		if err != nil {
			return 0, err
		}
		if note(n, kept); ok {
			high = n
		} else {
			low = n
		}
		switch {
		case high > most:
			n = min(low+step, most)
		case low == 0:
			n = max(high-step, 1)
		default:
			n = (low + high) / 2
		}
	}
	if high > most {
		return 0, nil
	}
	return high, nil
}
