package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
)

// goal is what a plan asks to find.
type goal interface {
	// find makes the fleet that is asked for the best of a search; there may be no such fleet.
	find(ctx context.Context) error
	// rules say what fleets are left out by that is not proven.
	rules() []string
	// show adds to an answer what was found beside the best fleet.
	show(ctx context.Context, a *answer.Answer) error
	// describe adds the best fleet to an answer.
	describe(ctx context.Context, a *answer.Answer) error
}

// fleetGoal is what goals have in common whose answer is a fleet for a load.
type fleetGoal struct{ *search }

func (s *fleetGoal) describe(ctx context.Context, a *answer.Answer) error {
	return s.details(ctx, a, func(context.Context, *errgroup.Group) {})
}

// cheapestGoal is the cheapest fleet that keeps the SLO.
type cheapestGoal struct{ fleetGoal }

func (s *cheapestGoal) find(ctx context.Context) error { return s.cheapest(ctx) }

// cheapest finds the cheapest fleet that keeps the SLO.
func (s *search) cheapest(ctx context.Context) error {
	err := s.answer(ctx)
	if err == nil && s.Trials.File.Plan.Scaled() {
		err = s.check(ctx)
	}
	if err == nil {
		err = (&tuner{s}).tune(ctx)
	}
	if err == nil {
		err = s.refineRatios(ctx)
	}
	return err
}

func (s *cheapestGoal) rules() []string {
	list := []string{"where a fleet misses the SLO, it does so with fewer replicas"}
	if s.Trials.File.Plan.Scaled() {
		list = append(list, "up to n replicas that start and stop miss an SLO that n fixed ones "+
			"miss", "they cost no less where n is higher")
	}
	return list
}

func (s *cheapestGoal) show(ctx context.Context, a *answer.Answer) (err error) {
	a.Shapes, a.FurtherShapes, err = s.shapes(ctx)
	return err
}

func (s *cheapestGoal) describe(ctx context.Context, a *answer.Answer) error {
	return s.details(ctx, a, func(ctx context.Context, group *errgroup.Group) {
		if !s.shared {
			s.others(ctx, group, a)
		}
	})
}

// details adds the details of the best fleet to an answer. They do not depend on each other, and
// are computed at the same time as what further adds to their group.
func (s *fleetGoal) details(ctx context.Context, a *answer.Answer,
	further func(context.Context, *errgroup.Group)) error {
	var oneFewer *answer.Advice
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		a.Chosen, err = s.fleet().Deploy(ctx)
		return err
	})
	group.Go(func() (err error) {
		oneFewer, err = s.oneFewer(ctx)
		return err
	})
	further(ctx, group)
	if err := group.Wait(); err != nil {
		return err
	}
	a.Chosen.OneFewer = oneFewer
	return nil
}

// others lets a group compute the alternatives to the cheapest fleet.
func (s *cheapestGoal) others(ctx context.Context, group *errgroup.Group, a *answer.Answer) {
	group.Go(func() (err error) {
		if growth := s.Trials.File.Plan.Fleet.Growth; growth != 1 {
			if a.Growth, err = s.growth(ctx, growth); err != nil {
				return err
			}
		}
		if h := s.Trials.File.Plan.Horizon; h != nil {
			kinds, size := s.beside(ctx, a.Shapes)
			if a.Horizon, err = overMonths(h, kinds, size); err != nil {
				return err
			}
		}
		if s.curved {
			if a.PriceCurves, err = s.prices(ctx, a.Shapes); err != nil {
				return err
			}
		}
		if list, more := s.contenders(contender); more {
			a.Contenders = len(list)
		}
		a.Sensitivity, err = s.sensitivity(ctx)
		return err
	})
}

// growth finds the best fleet for factor times the load.
func (s *cheapestGoal) growth(ctx context.Context, factor float64) (*answer.Growth, error) {
	later, err := s.perturbed(ctx, detail.Input{Plan: func(p *asked.Plan) { p.ScaleRate(factor) }},
		math.Inf(1))
	if err != nil {
		return nil, err
	}
	later.Trials.Rough = false
	if err := later.answer(ctx); err != nil {
		return nil, err
	}
	if later.best < 0 {
		return &answer.Growth{Factor: factor}, nil
	}
	return later.confirmed(ctx, factor)
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
		g := &answer.Growth{Factor: factor, Label: s.label(s.best), Replicas: n,
			Hourly: s.cost()}
		if n > s.size() {
			g.Hourly = o.Cost(n)
		}
		return g, nil
	}
	return nil, nil
}

// oneFewer returns the changes with which one replica fewer would suffice; nil where that is not
// asked.
func (s *fleetGoal) oneFewer(ctx context.Context) (*answer.Advice, error) {
	n := s.outcomes[s.best].replicas
	if n <= 1 || s.Goal().Find != asked.FindCheapest || !s.Trials.Shard.Whole() {
		return nil, nil
	}
	return detail.Advise(ctx, &s.Judge, s.chosen(), n-1, s.options[s.best].Worst())
}

// adviseNearest adds the changes that would help the option that comes closest to the SLO. The
// option has all replicas that exist, or the least number that it needs.
func (s *search) adviseNearest(ctx context.Context, n *answer.Nearest) error {
	if find := s.Trials.File.Plan.Goal.Find; n == nil || find != asked.FindCheapest ||
		!s.Trials.Shard.Whole() {
		return nil
	}
	o, replicas := s.options[n.Option], 0
	if kind := s.outcomes[n.Option].kind; kind == broken || kind == outOfReach {
		return nil // nothing is known of it, or a request alone misses the SLO
	}
	for _, server := range o.Servers() {
		if server.Offer.Count > 0 {
			replicas = max(1, s.Most(o))
		}
	}
	if replicas == 0 {
		replicas = s.Fewest(o)
	}
	var err error
	n.Advice, err = detail.Advise(ctx, &s.Judge, o, replicas, o.Worst())
	return err
}

// contender is by how much more than the answer an option may cost, by its bound, to be looked at
// again with other inputs.
const contender = 1.4

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
		other, err := s.perturbed(ctx, p, contender)
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			defer func() { <-slots }()
			if err := other.solveChanged(ctx, s.search, p.Harder); err != nil {
				return err
			}
			list[i] = s.sensitivityOf(p.Name, other, p.Harder)
			return nil
		})
	}
	return list, group.Wait()
}

// solveChanged answers a plan that is harder or easier than the one of s. A harder one never costs
// less, so that the same fleet is the answer as long as it keeps the SLO. For an easier one it is a
// fleet to beat.
func (s *search) solveChanged(ctx context.Context, easier *search, harder int) error {
	i := slices.IndexFunc(s.options,
		func(o *candidate.Option) bool { return s.label(o.Index) == easier.label(easier.best) })
	n := easier.outcomes[easier.best].replicas
	keeps := harder < 0
	if harder > 0 {
		var err error
		o := s.options[i]
		if keeps, _, err = s.Keeps(ctx, o, n, o.Worst(), s.Seeds); err != nil {
			return err
		}
	}
	if keeps {
		s.outcomes = make([]outcome, len(s.options))
		s.best, s.outcomes[i] = i, outcome{kind: chosen, replicas: n}
		if harder > 0 {
			return nil
		}
		var err error
		if s.outcomes[i].running, err = s.Charge(ctx, s.options[i], n); err != nil {
			return err
		}
	}
	return s.answer(ctx)
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
			Answer: units.Plural(other.size(), "replica") + " of " + other.label(other.best)}
	case other.size() != s.size():
		return answer.Sensitivity{Input: input, Changes: true,
			Answer: fmt.Sprintf("%s instead of %d",
				units.Plural(other.size(), "replica"), s.size())}
	}
	return answer.Sensitivity{Input: input, Answer: "the same"}
}

// contenders returns the options that may win with other inputs, in the order of the menu: the ones
// whose bound is at most within times the cost of the answer, with the settings of the menu or of
// the answer. Where within is infinite, they are all of these. More reports whether others were
// left out.
func (s *cheapestGoal) contenders(within float64) (list []int, more bool) {
	for i, o := range s.options {
		ours := o.From == i || i == s.best
		if ours && s.outcomes[i].kind != unfit && s.leastCost(i) <= within*s.cost() {
			list = append(list, i)
		}
	}
	if len(list) <= mostContenders || math.IsInf(within, 1) {
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
func (s *cheapestGoal) perturbed(ctx context.Context, p detail.Input, within float64) (*search,
	error) {
	list, _ := s.contenders(within)
	return s.again(ctx, p, list)
}

// again returns a search with other inputs, among some options. Where prices alone change, all else
// that is known of options holds.
func (s *cheapestGoal) again(ctx context.Context, p detail.Input, list []int) (*search, error) {
	f := &asked.File{Plan: s.Trials.File.Plan, Name: s.Trials.File.Name}
	f.Plan.Workload.Classes = slices.Clone(f.Plan.Workload.Classes)
	if p.Plan != nil {
		p.Plan(&f.Plan)
	}
	trials := *s.Trials
	trials.File = f
	var some []*candidate.Option
	for _, i := range list {
		some = append(some, s.options[i])
	}
	options := candidate.Copies(some, f, p.Price)
	if p.Price != nil {
		again := &search{standing: standing{Judge: s.Judge, options: options, best: -1}}
		again.Trials = &trials
		return again, nil
	}
	trials.Rough = true
	other, err := among(ctx, options, &trials)
	if err != nil {
		return nil, err
	}
	other.Seeds, other.replicaShare = s.Seeds, s.replicaShare
	if f.Plan.Scaled() {
		other.Seeds = judge.FewSeeds // as rough as other loads are judged here
	}
	return other, nil
}

// monthsKinds is how many servers a horizon is planned with.
const monthsKinds = 4

// beside returns the answer's server and the ones whose fleets cost least beside it, and what sizes
// fleets of all of them for a multiple of the load.
func (s *cheapestGoal) beside(ctx context.Context, shapes []answer.Shape) (kinds []*growing,
	size func(factor float64) error) {
	kinds = []*growing{{option: s.best}}
	for i := range shapes {
		if sh := &shapes[i]; sh.Replicas > 0 && len(kinds) < monthsKinds && sh.Option != s.best &&
			!s.options[sh.Option].IsSpot() && !s.options[sh.Option].Scaled() {
			kinds = append(kinds, &growing{option: sh.Option})
		}
	}
	var list []int
	for _, k := range kinds {
		o := s.options[k.option]
		k.label, k.price, k.onDemand = s.label(k.option), o.Price, o.OnDemand()
		list = append(list, k.option)
	}
	slices.Sort(list) // in the order of the menu
	return kinds, func(factor float64) error {
		other, err := s.again(ctx, detail.Input{Plan: func(p *asked.Plan) {
			p.ScaleRate(factor)
		}}, list)
		if err != nil {
			return err
		}
		other.Trials.Rough, other.replicaShare = false, 0
		return s.sizeAt(ctx, factor, kinds, other, list)
	}
}

// pricedLoads are multiples of the load for which fleets are sized to be drawn.
var pricedLoads = [...]float64{0.25, 0.5, 0.75, 1, 1.25, 1.5, 2}

// prices returns what fleets cost for loads around the asked one; nil where the load has no rate.
func (s *cheapestGoal) prices(ctx context.Context, shapes []answer.Shape) ([]answer.PriceCurve,
	error) {
	if p := &s.Trials.File.Plan; !p.Steady() || s.chosen().Scaled() || !s.Trials.Shard.Mine(0) {
		return nil, nil // a size is where the search for the next one begins: one part does all
	}
	kinds, size := s.beside(ctx, shapes)
	for _, factor := range pricedLoads {
		if err := size(factor); err != nil {
			return nil, err
		}
	}
	var list []answer.PriceCurve
	for _, k := range kinds {
		c := answer.PriceCurve{Label: k.label}
		for i, n := range k.sizes {
			if n > 0 {
				c.Points = append(c.Points, answer.PricePoint{Rate: k.factors[i] * s.Rate,
					Replicas: n, Hourly: s.options[k.option].Cost(n)})
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// sizeAt sizes fleets for a multiple of the load, in a search among the listed options.
func (s *cheapestGoal) sizeAt(ctx context.Context, factor float64, kinds []*growing, other *search,
	list []int) error {
	group, ctx := errgroup.WithContext(ctx)
	sizes := make([]int, len(kinds))
	for i, k := range kinds {
		group.Go(func() error {
			at := slices.Index(list, k.option)
			o, first := other.options[at], s.outcomes[k.option].replicas
			if len(k.sizes) > 0 {
				first = k.replicas(factor) - s.Spare
			}
			most := other.Most(o)
			if most < other.Fewest(o) {
				return nil
			}
			first = max(min(first, most), other.Fewest(o))
			n, err := other.smallest(ctx, at, first, func(int, float64) {})
			if err = other.unlessBroken(at, err); err == nil && n > 0 {
				sizes[i] = n + s.Spare
			}
			return err
		})
	}
	err := group.Wait()
	for i, k := range kinds {
		k.add(factor, sizes[i])
	}
	return err
}

// mostShapes bounds the shapes that an answer shows.
const mostShapes = 24

// shapes shows each accelerator and parallelism at its best settings, as far as they are known.
func (s *cheapestGoal) shapes(ctx context.Context) (list []answer.Shape, left int, err error) {
	leaders, left := s.leaders()
	list = make([]answer.Shape, len(leaders))
	group, ctx := errgroup.WithContext(ctx)
	for n, i := range leaders {
		if !s.Trials.Shard.Mine(n) {
			continue
		}
		group.Go(func() (err error) {
			list[n], err = s.shape(ctx, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(list, func(a, b answer.Shape) int {
		return cmp.Or(-cmp.Compare(sign(a.Replicas), sign(b.Replicas)),
			cmp.Compare(a.Hourly, b.Hourly), -cmp.Compare(a.Rate, b.Rate))
	})
	return list, left, nil
}

func sign(n int) int { return min(n, 1) }

// shape finds the highest rate of an option, and the fleet that it would take.
func (s *cheapestGoal) shape(ctx context.Context, i int) (answer.Shape, error) {
	o, outcome := s.options[i], &s.outcomes[i]
	sh := answer.Shape{Shape: o.Shape(), GPUs: o.GPUs, Label: s.label(i), Grade: o.Grade, Option: i}
	if o.Decode == nil || o.Decode.Offer.Accelerator == o.Prefill.Offer.Accelerator {
		sh.Accelerator = o.Prefill.Offer.Accelerator
	}
	if outcome.kind == unfit || outcome.kind == outOfReach || outcome.kind == broken {
		sh.Limit = s.words(i)
		return sh, nil
	}
	sh.KVTokens = o.Prefill.Room
	replicas, err := s.needed(ctx, i, &sh)
	if words, failed := judge.Failure(err); failed {
		sh.Limit = words
		return sh, nil
	}
	if err != nil {
		return sh, err
	}
	if size := replicas + s.Spare; replicas > 0 {
		sh.Replicas, sh.Accelerators, sh.Hourly = size, size*o.GPUs, o.Cost(size)
		if o.Scaled() {
			sh.Hourly, sh.Fewest = s.hourly(i), o.Scaling.Always+s.Spare
		}
		if millions := s.millions(); millions > 0 {
			sh.PerMillion = sh.Hourly / millions
		}
	}
	return sh, nil
}

// needed returns how many replicas of option i keep the SLO in a simulation of that very fleet,
// spares down; 0 where no fleet does, or where no fleet was simulated. It notes the highest rate of
// a replica that is judged alone, and what limits the option.
func (s *cheapestGoal) needed(ctx context.Context, i int, sh *answer.Shape) (int, error) {
	o, replicas := s.options[i], s.outcomes[i].replicas
	switch {
	case s.Trials.File.Plan.Divisible() && !o.IsSpot():
		rate, above, err := s.highest(ctx, i)
		if err != nil {
			return 0, err
		}
		sh.Rate, sh.Limit = rate, "at a higher rate, "+above.Trial.Limit
		if i == s.best || rate == 0 && replicas == 0 {
			return replicas, nil
		}
		if replicas == 0 {
			replicas = int(math.Ceil(s.Rate / rate))
		}
		if s.best >= 0 && o.Cost(replicas+s.Spare) < contender*s.cost() {
			return s.sizeAlternative(ctx, i, replicas, sh)
		}
		return 0, nil
	case replicas == 0 && s.sizedBesideAnswer(i):
		if sh.Limit = s.words(i); s.mostWorthwhile(i) >= s.Fewest(o) {
			sh.Limit = missesCheaper
		}
		return s.fleetOf(ctx, i)
	case replicas == 0:
		sh.Limit = s.words(i)
	case replicas == 1:
		sh.Limit = "one is enough"
	default:
		v, err := s.Enough(ctx, o, replicas-1)
		if err != nil {
			return 0, err
		}
		sh.Limit = s.whyLost(o, replicas-1, v)
	}
	return replicas, nil
}

// comparable is the largest ratio of an option's bound to the price of the answer at which an
// option that is judged by whole fleets is sized as a fleet.
const comparable = 2

// sizedBesideAnswer reports whether an option that is judged by whole fleets is sized beside the
// answer.
func (s *cheapestGoal) sizedBesideAnswer(i int) bool {
	kind, o := s.outcomes[i].kind, s.options[i]
	return s.best >= 0 && i != s.best && !o.Scaled() && (kind == simulated || kind == costsMore) &&
		s.leastCost(i) <= comparable*s.cost()
}

// fleetOf sizes an option as a fleet; 0 where no fleet keeps the SLO.
func (s *cheapestGoal) fleetOf(ctx context.Context, i int) (int, error) {
	rough := *s
	trials := *s.Trials
	trials.Rough, rough.Trials, rough.replicaShare = true, &trials, 0
	n, err := rough.smallest(ctx, i, max(s.Fewest(s.options[i]), s.mostWorthwhile(i)+1),
		func(int, float64) {})
	return n, err
}

// sizeAlternative sizes an option that is nearly as cheap as the answer as a fleet, from the n
// replicas that one replica suggests; 0 where its fleets miss the SLO. Fleets that cost less than
// the answer were tried before, unless other models have the accelerators.
func (s *cheapestGoal) sizeAlternative(ctx context.Context, i, n int, sh *answer.Shape) (int,
	error) {
	o, most := s.options[i], s.Most(s.options[i])
	if most < s.Fewest(o) {
		sh.Limit = s.words(i)
		return 0, nil
	}
	fleet, err := s.smallest(ctx, i, min(n, most), func(int, float64) {})
	if least := s.mostWorthwhile(i) + 1; err == nil && !s.joint && 0 < fleet && fleet < least {
		var kept bool
		if kept, _, err = s.Keeps(ctx, o, least, o.Worst(), s.Seeds); kept {
			return least, err
		}
		fleet, most = 0, least
	}
	if err == nil && fleet == 0 {
		sh.Limit = units.Plural(most, "replica") + " miss the SLO"
		if offer := o.Shortest(most + s.Spare + 1); offer != nil {
			sh.Limit += fmt.Sprintf("; there are %d × %s", offer.Count, offer.Accelerator)
		}
	}
	return fleet, err
}
