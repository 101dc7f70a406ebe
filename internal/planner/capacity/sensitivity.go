package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
)

// growth answers the plan for factor times the load, as if that were the plan.
func (s *cheapestGoal) growth(ctx context.Context, factor float64) (*answer.Growth, error) {
	later, err := s.another(ctx, func(p *asked.Plan) { p.ScaleRate(factor) })
	if err != nil {
		return nil, err
	}
	if later.best < 0 {
		return &answer.Growth{Factor: factor}, nil
	}
	return later.confirmed(ctx, factor)
}

// another answers another plan than the one asked, with the same menu.
func (s *cheapestGoal) another(ctx context.Context, change func(*asked.Plan)) (*search, error) {
	other, err := s.again(ctx, detail.Input{Plan: change}, judge.Indices(s.listed()))
	if err != nil {
		return nil, err
	}
	other.Trials.Rough, other.Seeds, other.replicaShare = false, judge.MostSeeds, 0
	return other, other.cheapest(ctx)
}

// plainCache answers the plan with the KV cache in the format that the menu or the engine gives it,
// where the answer has another; nil where it has not.
func (s *cheapestGoal) plainCache(ctx context.Context) (*answer.Priced, error) {
	if !s.chosen().ChangesCache() {
		return nil, nil
	}
	plain, err := s.another(ctx, func(p *asked.Plan) { p.Menu.PlainCache = true })
	if err != nil || plain.best < 0 {
		return &answer.Priced{}, err
	}
	return &answer.Priced{Label: plain.label(plain.best), Replicas: plain.size(),
		Hourly: plain.cost()}, nil
}

// mostFurther is how many replicas more than a search has found are tried until fresh draws of the
// load confirm a fleet.
const mostFurther = 3

// confirmed returns the best fleet, with the number of replicas that keeps the SLO with draws of
// the load that decided nothing; nil if these confirm no such fleet.
func (s *search) confirmed(ctx context.Context, factor float64) (*answer.Growth, error) {
	o := s.chosen()
	for n := s.size(); n <= s.size()+mostFurther && o.Available(n); n++ {
		if ok, err := s.Confirms(ctx, o, n-s.Spare); err != nil || !ok {
			if err != nil || o.Scaled() {
				return nil, err
			}
			continue
		}
		g := &answer.Growth{Factor: factor, Priced: answer.Priced{Label: s.label(s.best),
			Replicas: n, Hourly: s.cost()}}
		if n > s.size() {
			g.Hourly = o.Cost(n)
		}
		return g, nil
	}
	return nil, nil
}

// contender is up to how many times the price of the answer an option may cost, by its bound, to
// be looked at again alone or with other inputs.
const contender = answer.Contender

// mostContenders bounds these options: of more, the nearest to the answer are looked at again, and
// of each shape at most mostAlike, which differ in settings alone.
const (
	mostContenders = 96
	mostAlike      = 12
)

// mostAgain is how many plans with other inputs are answered at the same time: each has options of
// its own, up to a million.
const mostAgain = 2

// sensitivity answers the plan again with each input 10 % other than it is.
func (s *cheapestGoal) sensitivity(ctx context.Context) ([]answer.Sensitivity, error) {
	inputs := detail.Inputs(&s.Trials.File.Plan, s.chosen().Prefill.Offer.Accelerator)
	list := make([]answer.Sensitivity, len(inputs))
	group, ctx := errgroup.WithContext(ctx)
	slots := make(chan struct{}, mostAgain)
	for i, p := range inputs {
		if !s.Trials.Shard.Mine(i) {
			continue
		}
		slots <- struct{}{}
		other, err := s.perturbed(ctx, p)
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			defer func() { <-slots }()
			if err := other.solveVerified(ctx, s.search, p); err != nil {
				return err
			}
			list[i] = s.sensitivityOf(p.Name, other, p.Harder)
			return nil
		})
	}
	return list, group.Wait()
}

// solveVerified answers a plan with another input, as solveJudged does. Where a group of other
// numbers of prefill and decode replicas may cost less, it is looked for; and where the answer
// costs more than before, one other setting of the servers of before may spare it.
func (s *search) solveVerified(ctx context.Context, before *search, p detail.Input) error {
	err := s.solveJudged(ctx, before, p)
	if err != nil || p.Harder == 0 || s.best < 0 ||
		p.Harder > 0 && s.cost() <= before.cost() {
		return err
	}
	if s.chosen().Decode == nil {
		if err := s.refineRatios(ctx); err != nil {
			return err
		}
	}
	plan := &s.Trials.File.Plan
	if p.Harder < 0 || !plan.Tunes() || plan.Scaled() || s.cost() <= before.cost() {
		return nil
	}
	return (&tuner{s}).tuneSome(ctx, 1, func() []int { return []int{s.placeOf(before)} })
}

// placeOf returns the place of the answer of another search among the options.
func (s *standing) placeOf(other *search) int {
	return slices.IndexFunc(s.options, func(o *candidate.Option) bool {
		return s.label(o.Index) == other.label(other.best)
	})
}

// solveJudged answers a plan with another input by few runs of each fleet. The answer must then
// pass as many runs as the answer of before; if it does not, all fleets are judged by as many.
func (s *search) solveJudged(ctx context.Context, before *search, p detail.Input) error {
	if p.Price == nil {
		s.Seeds = min(s.Seeds, before.Few())
	}
	if err := s.solveChanged(ctx, before, p.Harder); err != nil || p.Price != nil {
		return err
	}
	if p.Harder < 0 && s.best >= 0 && s.label(s.best) == before.label(before.best) &&
		s.size() == before.size() {
		return nil // less is asked of a fleet that keeps the SLO
	}
	if s.Seeds, s.Trials.Rough = before.Seeds, false; s.best >= 0 {
		o := s.chosen()
		if kept, _, err := s.Keeps(ctx, o, s.outcomes[s.best].replicas, o.Worst(),
			s.Seeds); kept || err != nil {
			return err
		}
	}
	s.options, s.sizes = s.options[:s.listed()], nil
	return s.solveChanged(ctx, before, p.Harder)
}

// solveChanged answers a plan that is harder or easier than the one of before, or has other prices.
// A harder one never costs less, so that the same fleet is the answer as long as it keeps the SLO.
// Else the fewest replicas of the same option that keep it are a fleet to beat.
func (s *search) solveChanged(ctx context.Context, before *search, harder int) error {
	i := s.placeOf(before)
	o, n := s.options[i], before.outcomes[before.best].replicas
	keeps := harder <= 0
	if !keeps {
		var err error
		if keeps, _, err = s.Keeps(ctx, o, n, o.Worst(), s.Seeds); err != nil {
			return err
		}
	}
	scaled := s.Trials.File.Plan.Scaled()
	if scaled && !keeps {
		return s.answer(ctx)
	}
	s.outcomes = make([]outcome, len(s.options))
	s.best, s.outcomes[i] = i, outcome{kind: chosen, replicas: n}
	if keeps && harder > 0 {
		return nil
	}
	if scaled {
		var err error
		if s.outcomes[i].running, err = s.Charge(ctx, o, n); err != nil {
			return err
		}
		return s.answer(ctx)
	}
	for _, k := range s.sortOut() {
		s.outcomes[k].kind = costsMore
	}
	s.outcomes[i] = outcome{kind: chosen, replicas: n, sized: true}
	var err error
	switch {
	case harder != 0 && o.Decode != nil && (o.Paired || s.Spare == 0):
		r := &ratios{search: s, group: o, places: map[[2]int]int{}}
		err = r.resize(ctx, n, keeps)
	case harder != 0:
		err = s.resize(ctx, n, keeps)
	}
	if err != nil || s.best >= 0 {
		if err == nil {
			_, err = s.sizeBest(ctx)
		}
		return err
	}
	s.options, s.outcomes = s.options[:s.listed()], nil
	return s.answer(ctx)
}

// resize finds the fewest replicas of the best option that keep the SLO, given whether n do. There
// is no best option where no number does.
func (s *search) resize(ctx context.Context, n int, keeps bool) error {
	o, i := s.chosen(), s.best
	step := s.Step(o, n)
	l := judge.Least{First: n + step, Low: n, Most: max(n, s.Most(o)), Step: step, Near: step}
	if keeps {
		l = judge.Least{First: max(o.Based()+1, n-step), Low: o.Based(), Most: n - 1, High: n,
			Step: step, Near: step}
	}
	n, err := s.FindLeast(ctx, o, l, func(n int) (bool, error) {
		ok, _, err := s.Keeps(ctx, o, n, o.Worst(), s.Seeds)
		return ok, err
	})
	if s.outcomes[i].replicas = n; n == 0 {
		s.best = -1
	}
	return err
}

// sensitivityOf says what another answer is in words. An easier plan that seems to cost more does
// so by chance.
func (s *cheapestGoal) sensitivityOf(input string, other *search, harder int) answer.Sensitivity {
	switch {
	case other.best >= 0 && harder < 0 && other.cost() > s.cost():
	case other.best < 0:
		return answer.Sensitivity{Input: input, Changes: true, Answer: "no option meets the SLO"}
	case other.label(other.best) != s.label(s.best):
		return answer.Sensitivity{Input: input, Changes: true,
			Answer: other.wordsOfBest()}
	case other.ByPart(other.chosen(), other.size()) &&
		max(other.size()-s.size(), s.size()-other.size()) <= s.Step(s.chosen(), s.size()):
		// numbers of replicas of large fleets are no finer
	case other.size() != s.size():
		return answer.Sensitivity{Input: input, Changes: true,
			Answer: fmt.Sprintf("%s instead of %d",
				units.Plural(other.size(), "replica"), s.size())}
	}
	return answer.Sensitivity{Input: input, Answer: "the same"}
}

// contenders returns the options that may win with other inputs, in the order of the menu: the ones
// whose bound is at most contender times the cost of the answer, with the settings of the menu, of
// the answer or of a shape alone. More reports whether others were left out.
func (s *cheapestGoal) contenders() (list []int, more bool) {
	tuned := map[int]bool{s.best: true}
	for _, r := range s.rows {
		tuned[r.option] = true
	}
	for i, o := range s.options {
		ours := o.From == i || tuned[i]
		if ours && s.outcomes[i].kind != unfit && s.leastCost(i) <= contender*s.cost() {
			list = append(list, i)
		}
	}
	if len(list) <= mostContenders {
		return list, false
	}
	s.sortByNearness(list)
	alike, near := map[string]int{}, list[:0]
	for _, i := range list {
		shape := s.options[i].Shape()
		alike[shape]++
		if i == s.best || alike[shape] <= mostAlike && len(near) < mostContenders {
			near = append(near, i)
		}
	}
	slices.Sort(near)
	return near, true
}

// perturbed returns a search with other inputs, among the contenders.
func (s *cheapestGoal) perturbed(ctx context.Context, p detail.Input) (*search, error) {
	list, _ := s.contenders()
	other, err := s.again(ctx, p, list)
	if err == nil {
		other.prior = s.label(s.best) // so that no other is the answer that is only as good
	}
	return other, err
}

// again returns a search with other inputs, among some options. Where prices alone change, all else
// that is known of options holds.
func (s *cheapestGoal) again(ctx context.Context, p detail.Input, list []int) (*search, error) {
	f := &asked.File{Plan: s.Trials.File.Plan, Name: s.Trials.File.Name}
	f.Plan.Workload.Classes = slices.Clone(f.Plan.Workload.Classes)
	f.Plan.Effort.Refine = 0
	if p.Plan != nil {
		p.Plan(&f.Plan)
	}
	trials := s.Trials.Apart()
	trials.File = f
	var some []*candidate.Option
	for _, i := range list {
		some = append(some, s.options[i])
	}
	options := candidate.Copies(some, f, p.Price)
	if p.Price != nil {
		again := &search{standing: standing{Judge: s.Judge, options: options, best: -1}}
		again.Trials = trials
		return again, nil
	}
	trials.Rough = true
	other, err := among(ctx, options, trials)
	if err != nil {
		return nil, err
	}
	other.Seeds, other.replicaShare = s.Seeds, s.replicaShare
	if f.Plan.Scaled() {
		other.Seeds = judge.FewSeeds // as rough as other loads are judged here
	}
	return other, nil
}
