package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
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
	steps := []func(context.Context) error{s.answer, (&tuner{s}).tune, s.refineRatios}
	if s.Trials.File.Plan.Scaled() {
		steps = slices.Insert(steps, 1, s.check)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		s.tell()
	}
	return nil
}

// tell tells the best fleet so far, where it is another than the last that was told.
func (s *search) tell() {
	if s.leads == nil || s.best < 0 {
		return
	}
	words := fmt.Sprintf("%s of %s, %s an hour", units.Plural(s.size(), "replica"),
		s.label(s.best), s.Currency().Cents(s.cost()))
	if words != s.told {
		s.leads(cmp.Or(s.Trials.File.Plan.Name, "The best so far") + ": " + words)
	}
	s.told = words
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
	if p := &s.Trials.File.Plan; !p.FirstAnswer() || p.Horizon != nil {
		a.Shapes, a.FurtherShapes, err = s.shapes(ctx)
	}
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
			if a.Horizon, err = overMonths(h, s.Trials.File.Plan.Hours(), kinds, size); err != nil {
				return err
			}
		}
		if s.Trials.File.Plan.FirstAnswer() {
			return nil
		}
		if s.curved {
			if a.PriceCurves, err = s.prices(ctx, a.Shapes); err != nil {
				return err
			}
		}
		if a.Measurements, err = s.measurements(ctx); err != nil {
			return err
		}
		if list, more := s.contenders(contender); more {
			a.Contenders = len(list)
		}
		a.Sensitivity, err = s.sensitivity(ctx)
		return err
	})
}

// oneFewer returns the changes with which one replica fewer would suffice; nil where that is not
// asked.
func (s *fleetGoal) oneFewer(ctx context.Context) (*answer.Advice, error) {
	n := s.outcomes[s.best].replicas
	if n <= 1 || s.Goal().Find != asked.FindCheapest || !s.Trials.Shard.Whole() ||
		s.Trials.File.Plan.FirstAnswer() {
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
