package capacity

import (
	"context"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/build"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/changes"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// The options whose settings are tried, the rounds, and the simulations after which no further
// setting is tried: in all, or where the cheapest fleet is asked for, of one shape.
const (
	mostTuned       = 3
	mostTuningTurns = 4
	mostTuningRuns  = 80
	mostShapeRuns   = 40
)

// nearer is the share of what a shape misses the SLO by that a setting must leave at most, for
// further settings to be tried on top of it.
const nearer = 0.75

// missesCheaper says why an option with other settings lost.
const missesCheaper = "as a fleet that costs less, it misses the SLO"

// worthTuning is the least share of a price, a latency or an energy that settings beside the
// engine's defaults must save: less is within the errors of simulations.
const worthTuning = 0.01

// tune tries settings that the menu leaves to the engine's defaults, for the options nearest to the
// answer: each setting by itself, and then for each shape on top of what was found to be better, or
// else comes nearest to it. A tuned option is tried as the largest fleet that costs less than the
// answer so far.
func (s *search) tune(ctx context.Context) error {
	p := &s.Trials.File.Plan
	if s.best < 0 || !p.Tunes() || p.Goal.Find != menu.FindCheapest {
		return nil
	}
	if p.Scaled() {
		return s.tuneScaled(ctx)
	}
	s.tuned = &answer.Tuned{Without: s.label(s.best), WithoutReplicas: s.size(),
		WithoutHourly: s.cost()}
	missed := map[string]float64{} // by how much the base of a shape misses the SLO
	bases := map[string]oracle.Trial{}
	change := func(i int) ([]*candidate.Option, error) {
		o, n := s.options[i], max(1, s.cheaper(i))
		d, err := s.Decide(ctx, o, n, o.Worst())
		if err != nil {
			return nil, err
		}
		missed[o.Shape()] = d.Missing
		if bases[o.Shape()], _, err = s.Simulate(ctx, o, n, o.Worst(), 0); err != nil {
			return nil, err
		}
		return changes.Changed(&s.Judge, bases[o.Shape()], o)
	}
	runs := map[string]int{}
	return s.inTurns(ctx, s.tunable(), change, func(fresh []int, _ func() bool) ([]int, error) {
		before, near, least := s.best, map[string]int{}, map[string]float64{}
		for shape, missing := range missed {
			least[shape] = missing * nearer
		}
		first, err := s.firstRuns(ctx, fresh, bases, runs)
		if err != nil {
			return nil, err
		}
		for _, r := range first {
			shape, missing := s.options[r.option].Shape(), r.missing
			if r.promise != clearlyMisses {
				if runs[shape] >= mostShapeRuns ||
					s.cheaper(r.option) < s.Fewest(s.options[r.option]) {
					continue
				}
				begun := s.Trials.Count()
				if missing, err = s.tryTuned(ctx, r.option); err != nil {
					return nil, err
				}
				runs[shape] += s.Trials.Count() - begun
			}
			if missing > 0 && missing < least[shape] {
				least[shape], near[shape] = missing, r.option
			}
		}
		if s.best != before {
			near[s.chosen().Shape()] = s.best
			for _, i := range s.tunable() {
				if _, known := near[s.options[i].Shape()]; !known {
					near[s.options[i].Shape()] = i
				}
			}
		}
		next := slices.Sorted(maps.Values(near))
		s.sortByNearness(next)
		return next, nil
	})
}

// inTurns tries settings of some options, and then of the ones that a turn found to be better, or
// to come nearest: change makes the options that differ in one setting, and try simulates them
// while simulations are left, and returns whose settings are tried next.
func (s *search) inTurns(ctx context.Context, bases []int, change func(int) ([]*candidate.Option,
	error), try func(fresh []int, left func() bool) ([]int, error)) error {
	begun := s.Trials.Count()
	left := func() bool { return s.Trials.Count()-begun < mostTuningRuns }
	for turn := 0; turn < mostTuningTurns && len(bases) > 0; turn++ {
		fresh, err := s.variants(ctx, bases, change)
		if err != nil {
			return err
		}
		if bases, err = try(fresh, left); err != nil {
			return err
		}
	}
	s.tuned.Simulations += s.Trials.Count() - begun
	if s.best >= 0 {
		s.tuned.Settings = s.chosen().Settings()
	}
	return nil
}

// tunable returns the options whose settings are tried: of each shape the nearest to being chosen,
// as far as their bounds allow that they cost less than the answer.
func (s *search) tunable() []int {
	list, _ := s.leaders()
	list = slices.DeleteFunc(list, func(i int) bool {
		return i != s.best && !s.mayBeatBest(i) || s.cheaper(i) < s.Fewest(s.options[i])
	})
	s.sortByNearness(list)
	return list[:min(len(list), mostTuned)]
}

// cheaper returns the largest number of replicas of option i that cost less than the best by what
// makes other settings worth it; 0 where none do. Where a part stands for the best fleet, they cost
// less by more than it may be off.
func (s *search) cheaper(i int) int {
	n, most := s.mostWorthwhile(i), s.cost()*(1-worthTuning)
	if s.ByPart(s.chosen(), s.size()) {
		most *= 1 - oracle.PartError
	}
	for n > 0 && s.options[i].Cost(n+s.Spare) >= most {
		n--
	}
	return n
}

// variants adds the options that change makes of some, which differ from them in one setting, and
// returns their places.
func (s *search) variants(ctx context.Context, bases []int,
	change func(int) ([]*candidate.Option, error)) ([]int, error) {
	var list []*candidate.Option
	for _, i := range bases {
		some, err := change(i)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return s.added(ctx, list)
}

// added adds options that can be built and that are not known yet, and returns their places.
func (s *search) added(ctx context.Context, list []*candidate.Option) ([]int, error) {
	known := map[string]bool{}
	for i := s.listed(); i < len(s.options); i++ {
		known[s.label(i)] = true
	}
	var fresh []*candidate.Option
	for _, o := range list {
		if words := o.Label(&s.Trials.File.Plan.Menu); !known[words] {
			known[words], fresh = true, append(fresh, o)
		}
	}
	if fresh == nil {
		return nil, nil
	}
	if err := build.Prepare(ctx, s.Trials.File, fresh); err != nil {
		return nil, err
	}
	var places []int
	for _, o := range fresh {
		if o.Unfit() != "" || o.Tight {
			continue
		}
		o.Index = len(s.options)
		s.options, s.outcomes = append(s.options, o), append(s.outcomes, outcome{kind: costsMore})
		places = append(places, o.Index)
	}
	return places, nil
}

// tryTuned simulates an option as the largest fleet that costs less than the answer, and makes its
// smallest fleet the answer if that fleet keeps the SLO. It returns by how much the share of
// requests that keep the SLO is below what the SLO asks for.
func (s *search) tryTuned(ctx context.Context, i int) (missing float64, err error) {
	before := s.best
	won, missing, err := s.beatsBest(ctx, i, s.cheaper(i))
	if words, failed := oracle.Failure(err); failed {
		s.outcomes[i] = outcome{kind: broken, words: words}
		return 1, nil
	}
	if err != nil || !won {
		s.outcomes[i].kind, s.outcomes[i].words = simulated, missesCheaper
		return missing, err
	}
	kept, err := s.sizeFleet(ctx)
	if err == nil && !kept {
		s.outcomes[i].words, s.outcomes[i].replicas = "no fleet keeps the SLO over several runs", 0
		s.makeBest(before)
	}
	return 0, err
}

// listed returns the number of options of the menu.
func (s *search) listed() int {
	n := len(s.options)
	for n > 0 && s.options[n-1].Settings() != nil {
		n--
	}
	return n
}

// changedAny returns the options that differ from option i in one setting of any kind.
func (s *search) changedAny(i int) ([]*candidate.Option, error) {
	return changes.ChangedFor(&s.Judge, s.options[i], "")
}
