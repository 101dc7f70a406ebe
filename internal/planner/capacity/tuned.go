package capacity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

// The options whose settings are tried, the rounds, and the simulations after which no further
// setting is tried: in all, or where the cheapest fleet is asked for, of one option of the menu,
// the ones that decide about a setting left out.
const (
	mostTuned       = 12
	mostTuningTurns = 4
	mostTuningRuns  = 80
	mostOptionRuns  = 40
)

// nearer is the share of what a shape misses the SLO by that a setting must leave at most, for
// further settings to be tried on top of it.
const nearer = 0.75

// mostFailed is how many settings of an option may miss the SLO in a turn: the others promise less.
const mostFailed = 2

// missesCheaper and missesNearer say why an option with other settings lost.
const (
	missesCheaper = "as a fleet that costs less, it misses the SLO"
	missesNearer  = "as a fleet that costs less, settings that promised more miss the SLO"
)

// worthTuning is the least share of a price, a latency or an energy that settings beside the
// engine's defaults must save: less is within the errors of simulations.
const worthTuning = 0.01

// tuner tries settings that the menu leaves to the engine's defaults.
type tuner struct{ *search }

// tune tries settings that the menu leaves to the engine's defaults, for the options nearest to the
// answer: each setting by itself, and then for each shape on top of what was found to be better, or
// else comes nearest to it. A tuned option is tried as the largest fleet that costs less than the
// answer so far. Where no fleet keeps the SLO at the menu's settings, it begins with one that does
// with another.
func (s *tuner) tune(ctx context.Context) error {
	p := &s.Trials.File.Plan
	switch {
	case !p.Tunes() || p.Goal.Find != asked.FindCheapest || s.best < 0 && p.Scaled():
		return nil
	case p.Scaled():
		return s.tuneScaled(ctx)
	case s.best >= 0:
		return s.tuneSome(ctx, mostTuningTurns, s.tunable)
	}
	first := &answer.Tuned{}
	if err := s.findFirst(ctx, first); err != nil || s.best < 0 {
		s.tuned = first
		return err
	}
	err := s.tuneSome(ctx, mostTuningTurns, s.tunable)
	first.Settings = s.chosen().Settings()
	first.Tried, first.Simulations = first.Tried+s.tuned.Tried, s.Trials.Count()
	s.tuned = first
	return err
}

// mostNear is how many options with a setting that does not suffice are tried with a second one.
const mostNear = 3

// findFirst makes the fewest replicas of a first option with another setting the answer that keeps
// the SLO, of the options of the menu that come nearest to it; where one setting does not suffice,
// with a second one, of the settings that came nearest.
func (s *tuner) findFirst(ctx context.Context, tuned *answer.Tuned) error {
	var bases []int
	for i := range s.listed() {
		if kind := s.outcomes[i].kind; kind == simulated || kind == costsMore || kind == tooFew {
			bases = append(bases, i)
		}
	}
	s.sortByNearness(bases)
	bases = bases[:min(len(bases), mostTuned)]
	for range 2 {
		var near []firstRun
		for _, i := range bases {
			nearest, err := s.firstOf(ctx, i, tuned)
			if err != nil || s.best >= 0 {
				return err
			}
			near = append(near, nearest...)
		}
		slices.SortStableFunc(near,
			func(a, b firstRun) int { return cmp.Compare(a.missing, b.missing) })
		bases = nil
		for _, r := range near[:min(len(near), mostNear)] {
			bases = append(bases, r.option)
		}
	}
	return nil
}

// firstOf looks for a setting with which some replicas of option i keep the SLO, and makes the
// fewest of them the answer. Else it returns the setting that came nearest to it.
func (s *tuner) firstOf(ctx context.Context, i int, tuned *answer.Tuned) (near []firstRun,
	err error) {
	fresh, err := s.variants(ctx, []int{i}, func(i int) ([]*candidate.Option, error) {
		t, err := s.probe(ctx, s.options[i], max(1, s.Most(s.options[i])))
		if err != nil {
			return nil, err
		}
		return detail.Changed(&s.Judge, t, s.options[i])
	})
	if err != nil {
		return nil, err
	}
	for _, k := range fresh {
		tuned.Tried++
		missing, err := s.mostKeep(ctx, k)
		if err = s.unlessBroken(k, err); err != nil || s.best >= 0 {
			return nil, err
		}
		if s.outcomes[k].kind == broken {
			continue
		}
		s.outcomes[k].kind, s.outcomes[k].words = simulated, "it misses the SLO"
		if near == nil || missing < near[0].missing {
			near = []firstRun{{option: k, missing: missing}}
		}
	}
	return near, nil
}

// mostKeep makes the fewest replicas of option i that keep the SLO the answer, if as many as may be
// keep it. It returns by how much their share of requests is below what the SLO asks for.
func (s *tuner) mostKeep(ctx context.Context, i int) (missing float64, err error) {
	o := s.options[i]
	t, err := s.probe(ctx, o, max(1, s.Most(o)))
	missing = t.Target - t.Kept.Mean
	if err != nil || !t.Keeps() || s.Most(o) < s.Fewest(o) {
		return missing, err
	}
	if err := s.try(ctx, i); err != nil || s.best < 0 {
		return missing, err
	}
	kept, err := s.sizeFleet(ctx)
	if err == nil && !kept {
		s.outcomes[i].replicas, s.best = 0, -1
	}
	return missing, err
}

// untuned notes the answer so far as the one without settings beside the menu's.
func (s *search) untuned() *answer.Tuned {
	if s.best < 0 {
		return &answer.Tuned{}
	}
	return &answer.Tuned{Without: s.label(s.best), WithoutReplicas: s.size(),
		WithoutScaled: s.chosen().Scaled(), WithoutHourly: s.cost()}
}

// tuneSome is tune for some options, which bases returns anew as the answer changes, with at most
// turns settings on top of each other.
func (s *tuner) tuneSome(ctx context.Context, turns int, bases func() []int) error {
	s.tuned = s.untuned()
	missed := map[int]float64{} // by how much an option of the menu misses the SLO
	untuned := map[int]judge.Trial{}
	change := func(i int) ([]*candidate.Option, error) {
		o := s.options[i]
		t, err := s.probe(ctx, o, max(1, s.cheaper(i)))
		if err != nil {
			return nil, err
		}
		untuned[o.From], missed[o.From] = t, t.Target-t.Kept.Mean
		return detail.Changed(&s.Judge, t, o)
	}
	runs := map[int]int{}
	return s.coordinateSearch(ctx, turns, bases(), change, func(fresh []int, _ func() bool) ([]int,
		error) {
		before, near, least, failed := s.best, map[int]int{}, map[int]float64{}, map[int]int{}
		for from, missing := range missed {
			least[from] = missing * nearer
		}
		first, err := s.firstRuns(ctx, fresh, untuned, runs)
		if err != nil {
			return nil, err
		}
		for _, r := range first {
			from, missing := s.options[r.option].From, r.missing
			if r.promise != clearlyMisses {
				if s.cheaper(r.option) < s.Fewest(s.options[r.option]) {
					continue
				}
				if failed[from] == mostFailed {
					s.outcomes[r.option].kind, s.outcomes[r.option].words = simulated, missesNearer
					continue
				}
				if missing, err = s.tryTuned(ctx, r.option); err != nil {
					return nil, err
				}
				if missing > 0 {
					failed[from]++
				}
			}
			if missing > 0 && missing < least[from] {
				least[from], near[from] = missing, r.option
			}
		}
		if s.best != before {
			near[s.chosen().From] = s.best
			for _, i := range bases() {
				if _, known := near[s.options[i].From]; !known {
					near[s.options[i].From] = i
				}
			}
		}
		next := slices.Sorted(maps.Values(near))
		s.sortByNearness(next)
		if i := s.runnerUp(first, missed); s.best != before && i >= 0 {
			next = append(next, i)
		}
		return next, nil
	})
}

// mostProbed is how many replicas show at first sight what more of them do with their share of the
// load: arrivals at each of fewer would be less even.
const mostProbed = 4

// probe returns what n replicas of an option show at first sight: a part of them where all are
// alike.
func (s *tuner) probe(ctx context.Context, o *candidate.Option, n int) (judge.Trial, error) {
	part := s.Judge
	if k := min(n, mostProbed); s.Trials.File.Plan.Divisible() {
		part.Rate, n = asked.Round(s.Rate*float64(k)/float64(n)), k
	}
	t, _, err := part.Simulate(ctx, o, n, o.Worst(), 0)
	return t, err
}

// runnerUp returns the setting that came nearest to the SLO for the price of before, of the ones of
// the answer's option of the menu that are not of the kind that the answer has changed last; -1
// without one that came near. Further steps in its direction may be better than the answer.
func (s *tuner) runnerUp(list []firstRun, missed map[int]float64) int {
	from, next := s.chosen().From, -1
	least := nearer * missed[from]
	for _, r := range list {
		o := s.options[r.option]
		if o.From == from && o.LastChanged() != s.chosen().LastChanged() && r.missing < least &&
			s.cheaper(r.option) >= s.Fewest(o) {
			next, least = r.option, r.missing
		}
	}
	return next
}

// coordinateSearch tries settings of some options, and in further turns of the ones that a turn
// found to be better, or to come nearest: change makes the options that differ in one setting, and
// evaluate simulates them while simulations are left, and returns whose settings are tried next.
func (s *tuner) coordinateSearch(ctx context.Context, turns int, bases []int,
	change func(int) ([]*candidate.Option, error),
	evaluate func(fresh []int, left func() bool) ([]int, error)) error {
	begun := s.Trials.Count()
	left := func() bool { return s.Trials.Count()-begun < mostTuningRuns }
	for turn := 0; turn < turns && len(bases) > 0; turn++ {
		fresh, err := s.variants(ctx, bases, change)
		if err != nil {
			return err
		}
		if bases, err = evaluate(fresh, left); err != nil {
			return err
		}
	}
	s.tuned.Simulations += s.Trials.Count() - begun
	if s.best >= 0 {
		s.tuned.Settings = s.chosen().Settings()
	}
	return nil
}

// tunable returns the options of the menu whose settings are tried: the answer, and the nearest to
// being chosen of the ones that may cost less than it, by their bounds.
func (s *tuner) tunable() []int {
	var list []int
	for i := range s.listed() {
		if i == s.chosen().From || s.mayBeatBest(i) && s.cheaper(i) >= s.Fewest(s.options[i]) {
			list = append(list, i)
		}
	}
	s.sortByNearness(list)
	return list[:min(len(list), mostTuned)]
}

// cheaper returns the largest number of replicas of option i that cost less than the best by what
// makes other settings worth it; 0 where no settings do. Where a part of the best fleet was
// simulated, they cost less by more than it may be off.
func (s *tuner) cheaper(i int) int {
	n, most := s.mostWorthwhile(i), s.cost()*(1-worthTuning)
	if s.ByPart(s.chosen(), s.size()) {
		most *= 1 - judge.PartError
	}
	for n > 0 && s.options[i].Cost(n+s.Spare) >= most {
		n--
	}
	return n
}

// variants adds the options that change makes of some, which differ from them in one setting, and
// returns their places.
func (s *tuner) variants(ctx context.Context, bases []int,
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
	if err := candidate.Prepare(ctx, s.Trials.File, fresh); err != nil {
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
func (s *tuner) tryTuned(ctx context.Context, i int) (missing float64, err error) {
	before := s.best
	won := false
	t, err := s.probe(ctx, s.options[i], s.cheaper(i)) // less may be left since its first run
	if missing = t.Target - t.Kept.Mean; err == nil && !t.Hopeless() {
		won, missing, err = s.beatsBest(ctx, i, s.cheaper(i))
	}
	if err = s.unlessBroken(i, err); s.outcomes[i].kind == broken {
		return 1, err
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

// listed returns the number of options of the menu. Options that were made from these follow them.
func (s *standing) listed() int {
	n := len(s.options)
	for n > 0 && s.options[n-1].From != n-1 {
		n--
	}
	return n
}

// changedAny returns the options that differ from option i in one setting of any kind.
func (s *tuner) changedAny(i int) ([]*candidate.Option, error) {
	return detail.ChangedFor(&s.Judge, s.options[i], "")
}

// promise is what one run says of whether a fleet keeps the SLO.
type promise uint8

const (
	clearlyKeeps promise = iota
	unclear
	clearlyMisses
)

// firstRun is one run of an option with another setting, as the largest fleet that costs less than
// the answer. Missing is by how much the share of requests that keep the SLO is below its target.
type firstRun struct {
	option  int
	promise promise
	missing float64
}

// firstRuns simulates options with other settings once each, and orders them by what that promises:
// the settings that clearly keep the SLO are looked at closely before the runs of their option of
// the menu are used up. Settings are left out that change nothing in a run of that option, and what
// is nearer to the default than these. It adds to the runs of each option of the menu.
func (s *tuner) firstRuns(ctx context.Context, fresh []int, bases map[int]judge.Trial,
	runs map[int]int) ([]firstRun, error) {
	var list []firstRun
	idle := map[string]bool{}
	for _, i := range fresh {
		o, n := s.options[i], s.cheaper(i)
		from := o.From
		setting := fmt.Sprint(from, o.LastChanged())
		if runs[from] >= mostOptionRuns || idle[setting] || n < s.Fewest(o) {
			continue
		}
		s.tuned.Tried++
		runs[from]++
		t, err := s.probe(ctx, o, n)
		if err = s.unlessBroken(i, err); err != nil {
			return nil, err
		}
		if s.outcomes[i].kind == broken {
			continue
		}
		if reflect.DeepEqual(t, bases[from]) {
			idle[setting] = true
			continue
		}
		r := firstRun{option: i, promise: unclear, missing: t.Target - t.Kept.Mean}
		switch clear := t.Kept.Excludes(t.Target); {
		case clear && t.Keeps():
			r.promise = clearlyKeeps
		case clear && r.missing > 0:
			r.promise = clearlyMisses
			s.tried(i).Add(n)
			s.outcomes[i].kind, s.outcomes[i].words = simulated, missesCheaper
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b firstRun) int {
		return cmp.Or(cmp.Compare(a.promise, b.promise), cmp.Compare(a.missing, b.missing))
	})
	keep := 0
	for keep < len(list) && list[keep].promise == clearlyKeeps {
		keep++
	}
	return list, s.race(ctx, list[:keep], runs)
}

// smallerBy is the ratio of the prices at which settings that keep the SLO are compared.
const smallerBy = 0.75

// race sorts settings that clearly keep the SLO by the price of the fleets that keep it, the lowest
// first. In each round it simulates a fleet of each setting for three quarters of the price before;
// a setting that clearly misses the SLO then leaves, until at most one setting is left.
func (s *tuner) race(ctx context.Context, list []firstRun, runs map[int]int) error {
	for price := smallerBy * s.cost(); len(list) > 1; price *= smallerBy {
		for k := range list {
			i := list[k].option
			o := s.options[i]
			n := int(o.Affordable(price)) - s.Spare
			if list[k].promise = clearlyMisses; n < s.Fewest(o) || runs[o.From] >= mostOptionRuns {
				continue
			}
			runs[o.From]++
			t, err := s.probe(ctx, o, n)
			if err = s.unlessBroken(i, err); err != nil {
				return err
			}
			if s.outcomes[i].kind != broken && (t.Keeps() || !t.Kept.Excludes(t.Target)) {
				list[k].promise = clearlyKeeps
			}
		}
		slices.SortStableFunc(list,
			func(a, b firstRun) int { return cmp.Compare(a.promise, b.promise) })
		left := 0
		for k := range list {
			if list[k].promise == clearlyKeeps {
				left++
			}
			list[k].promise = clearlyKeeps // at the price that was asked first
		}
		list = list[:left]
	}
	return nil
}
