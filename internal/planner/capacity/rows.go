package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

// mostAlone is up to how many shapes beside the answer's have the plan answered for them alone,
// where by their bounds they cannot be the answer: those whose bounds are the lowest.
const mostAlone = 6

// mostUntuned is up to how many times the price of the answer such a shape may cost at the menu's
// settings for others to be tried: two settings together halve the price of some.
const mostUntuned = 2

// alone answers the plan for single shapes, each as if it were the whole menu, with settings beside
// the menu's: for the answer's shape, for all that by their bounds may be the answer, and for some
// that may cost no more than a contender. Settings that a shape is tried with do not depend on
// what others cost, so that the answer is that of the shape that costs the least alone.
func (s *shapeRows) alone(ctx context.Context) error {
	p := &s.Trials.File.Plan
	if p.FirstAnswer() && p.Horizon == nil || s.best < 0 && (!p.Tunes() || p.Scaled()) {
		return nil
	}
	if p.Tunes() {
		s.tuned = s.untuned()
	}
	s.rows = map[string]row{}
	for shapes, n := s.shapesByBound(), 1; len(shapes) > 0 && s.left("settings beside the menu's "+
		"for each kind of replica"); n = mostAgain {
		next := shapes[:min(n, len(shapes))]
		shapes = shapes[len(next):]
		found := make([]*search, len(next))
		group, ctx := errgroup.WithContext(ctx)
		for k, sh := range next {
			wins := s.best < 0 || len(s.rows) == 0 || sh.atLeast <= s.cost()*(1+samePrice)
			if !wins && (len(s.rows)+k > mostAlone || sh.atLeast > contender*s.cost()) {
				shapes = nil // whose bounds are no lower
				continue
			}
			group.Go(func() (err error) {
				found[k], err = s.alike(ctx, sh.options, wins)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for k, own := range found {
			if own != nil {
				s.note(next[k], own)
			}
		}
		s.tell()
	}
	if err := s.takeSurest(ctx); err != nil {
		return err
	}
	if s.tuned != nil && s.best >= 0 {
		s.tuned.Settings = s.chosen().Settings()
	}
	return nil
}

// takeSurest makes the fleet the answer that most likely keeps the SLO, of the shapes whose fleets
// cost what the answer does with the same evidence. Of equal ones it stays the answer, or is taken
// by the rule of wins.
func (s *shapeRows) takeSurest(ctx context.Context) error {
	if s.best < 0 {
		return nil
	}
	list := []int{s.best}
	for _, r := range s.rows {
		if r.option >= 0 && r.option != s.best && comparePrices(r.hourly, s.cost()) == 0 &&
			s.options[r.option].Grade == s.chosen().Grade {
			list = append(list, r.option)
		}
	}
	if len(list) == 1 {
		return nil
	}
	slices.SortFunc(list[1:], func(i, k int) int {
		a, b := s.options[i], s.options[k]
		return cmp.Or(cmp.Compare(s.outcomes[i].replicas*a.GPUs, s.outcomes[k].replicas*b.GPUs),
			s.comparePlain(a, b))
	})
	best, surest := s.best, -1.0
	for _, i := range list {
		f := s.fleet()
		f.Option, f.Replicas = s.options[i], s.outcomes[i].replicas
		c, err := f.Chance(ctx)
		if _, failed := judge.Failure(err); failed {
			continue
		}
		if err != nil {
			return err
		}
		if c.Simulated > surest {
			best, surest = i, c.Simulated
		}
	}
	if best != s.best {
		s.outcomes[s.best].words = "another costs as much and is surer"
		s.makeBest(best)
	}
	return nil
}

// note notes the answer of a shape alone, and makes it the answer if it is better.
func (s *shapeRows) note(sh shapeOptions, own *search) {
	if own.tuned != nil {
		s.tuned.Tried += own.tuned.Tried
		s.tuned.Simulations += own.tuned.Simulations
	}
	if own.best < 0 {
		r := row{option: -1}
		if n := own.nearest(); n != nil {
			r.limit = n.Limit
		}
		s.rows[sh.name] = r
		return
	}
	i := s.adopted(own, sh.options)
	r := row{option: i, replicas: own.outcomes[own.best].replicas, hourly: own.cost()}
	s.rows[sh.name] = r
	if i != s.best && s.wins(s.options[i], r.replicas, r.hourly) {
		if s.best >= 0 {
			s.outcomes[s.best].words = "another costs less"
		}
		s.makeBest(i)
	}
}

// shapeRows answers the plan for single shapes.
type shapeRows struct{ *search }

// shapeOptions is the options of the menu that have a shape, and the least that they cost.
type shapeOptions struct {
	name    string
	options []int
	atLeast float64
}

// shapesByBound returns the shapes by what they cost at least, the answer's first.
func (s *shapeRows) shapesByBound() []shapeOptions {
	var list []shapeOptions
	at := map[string]int{}
	mine := ""
	if s.best >= 0 {
		mine = s.options[s.chosen().From].Shape()
	}
	for i, o := range s.options[:s.listed()] {
		name := o.Shape()
		k, seen := at[name]
		if !seen {
			k = len(list)
			at[name], list = k, append(list, shapeOptions{name: name, atLeast: math.Inf(1)})
		}
		list[k].options = append(list[k].options, i)
		list[k].atLeast = min(list[k].atLeast, s.atLeast(i))
	}
	first := func(sh *shapeOptions) bool { return sh.name == mine }
	slices.SortStableFunc(list, func(a, b shapeOptions) int {
		if first(&a) != first(&b) {
			return map[bool]int{true: -1, false: 1}[first(&a)]
		}
		return cmp.Compare(a.atLeast, b.atLeast)
	})
	return list
}

// atLeast returns the least that a fleet of an option of the menu costs with any settings that are
// tried, by the bounds; infinite where it cannot keep the SLO.
func (s *shapeRows) atLeast(i int) float64 {
	o := s.options[i]
	if o.Unfit() != "" || o.Tight {
		return math.Inf(1)
	}
	if s.Trials.File.Plan.Tunes() {
		o = o.Tunable(&s.Trials.File.Plan)
	}
	if s.Most(o) < s.Fewest(o) {
		return math.Inf(1)
	}
	return s.leastOf(o)
}

// alike answers the plan for some options of the menu alone: at any price where they may win.
func (s *shapeRows) alike(ctx context.Context, list []int, wins bool) (*search, error) {
	var some []*candidate.Option
	for _, i := range list {
		some = append(some, s.options[i])
	}
	f, trials := *s.Trials.File, s.Trials.Apart()
	f.Plan.Effort.Refine = 0 // what has begun is finished
	if !wins {
		budget := &f.Plan.Goal.Budget
		budget.Amount = cmp.Or(s.untunedPrice(), budget.Amount)
	}
	trials.File = &f
	own, err := among(ctx, candidate.Copies(some, &f, nil), trials)
	if err != nil {
		return nil, err
	}
	own.Rate = s.Rate
	if err := own.fromMenu(ctx); err != nil || own.best < 0 && !wins {
		return own, err
	}
	return own, (&tuner{own}).tune(ctx)
}

// untunedPrice is the price an hour up to which a shape alone is looked for at the menu's settings;
// 0 without an answer, and for fleets that are scaled, which cost less than their largest number of
// replicas.
func (s *shapeRows) untunedPrice() float64 {
	if s.best < 0 || s.Trials.File.Plan.Scaled() {
		return 0
	}
	return mostUntuned * s.cost()
}

// adopted adds the answer of a search among some options of the menu to the options, and returns
// its place.
func (s *shapeRows) adopted(own *search, list []int) int {
	o, replicas := *own.chosen(), own.outcomes[own.best]
	i := list[o.From]
	if o.From != o.Index {
		label := own.label(own.best)
		i = slices.IndexFunc(s.options, func(o *candidate.Option) bool {
			return s.label(o.Index) == label
		})
		if i < 0 {
			i = len(s.options)
			o.Index, o.From = i, list[o.From]
			s.options, s.outcomes = append(s.options, &o), append(s.outcomes, outcome{})
		}
	}
	if i != s.best {
		s.outcomes[i].kind, s.outcomes[i].words = simulated, "another costs less"
	}
	s.outcomes[i].replicas, s.outcomes[i].running = replicas.replicas, replicas.running
	s.outcomes[i].sized = true
	return i
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
			cmp.Compare(a.Hourly, b.Hourly), cmp.Compare(bound(a), bound(b)))
	})
	return list, left, nil
}

func sign(n int) int { return min(n, 1) }

// bound is the least that a shape costs, as far as it is known.
func bound(sh answer.Shape) float64 {
	if sh.AtLeast > 0 {
		return sh.AtLeast
	}
	return math.Inf(1)
}

// shape describes the fleet of an option, whose price is that of its shape alone, or what bounds
// say of it.
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
	r, _ := s.rowOf(sh.Shape)
	if r.replicas == 0 {
		s.without(i, r.limit, &sh)
		return sh, nil
	}
	size := r.replicas + s.Spare
	whole, n := o.Whole(size)
	sh.Label = whole.Label(&s.Trials.File.Plan.Menu)
	sh.Replicas, sh.Accelerators, sh.Hourly = n, o.Total(size), r.hourly
	if o.Scaled() {
		sh.Fewest = o.Scaling.Always + s.Spare
	}
	if millions := s.millions(); millions > 0 {
		sh.PerMillion = sh.Hourly / millions
	}
	if s.short {
		return sh, nil
	}
	err := s.limit(ctx, i, r.replicas, &sh)
	if words, failed := judge.Failure(err); failed {
		sh.Limit, err = words, nil
	}
	return sh, err
}

// without says of a shape for which no fleet is known what one costs at least.
func (s *cheapestGoal) without(i int, limit string, sh *answer.Shape) {
	sh.Limit = s.words(i)
	rows, least := &shapeRows{s.search}, math.Inf(1)
	for k, o := range s.options[:s.listed()] {
		if o.Shape() == sh.Shape {
			least = min(least, rows.atLeast(k))
		}
	}
	if math.IsInf(least, 1) {
		return
	}
	sh.AtLeast = least
	sh.Limit = "it costs " + s.Money(least) + "/h at least by the roofline, with any settings"
	if limit == "" {
		return
	}
	sh.Limit += "; at the menu's settings"
	if most := rows.untunedPrice(); most > 0 {
		sh.Limit += ", up to " + s.Money(most) + "/h"
	}
	sh.Limit += ": " + limit
}

// limit notes the highest rate of a replica that is judged alone, and what limits the option.
func (s *cheapestGoal) limit(ctx context.Context, i, replicas int, sh *answer.Shape) error {
	o := s.options[i]
	switch {
	case s.Trials.File.Plan.Divisible() && !o.IsSpot():
		rate, above, err := s.highest(ctx, i)
		sh.Rate, sh.Limit = rate, "at a higher rate, "+above.Trial.Limit
		return err
	case replicas == o.Based()+1:
		sh.Limit = "one is enough"
	case o.IsSpot(): // which is decided over several runs
		t, err := s.KeepsOnSpotOver(ctx, o, replicas-1, o.Worst(), s.SeedsBelow(s.Few()))
		if err == nil {
			sh.Limit = s.whyLost(o, replicas-1, judge.Verdict{Trial: t})
		}
		return err
	default:
		v, err := s.Enough(ctx, o, replicas-1)
		if err == nil {
			sh.Limit = s.whyLost(o, replicas-1, v)
		}
		return err
	}
	return nil
}
