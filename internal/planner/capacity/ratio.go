package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

// mostRatios is how many kinds of groups have the ratio of their replicas refined.
const mostRatios = 6

// refineRatios takes the numbers of prefill and of decode replicas of a fleet of groups as numbers
// of their own: groups of a ratio on the menu have too many of one of them. The cheapest fleet of
// such numbers is the answer if it costs less. With spares, that many replicas of either kind may
// be down, or of both, instead of whole groups.
func (s *search) refineRatios(ctx context.Context) error {
	p := &s.Trials.File.Plan
	if s.best < 0 || p.Scaled() || p.FirstAnswer() ||
		p.Goal.Find != asked.FindCheapest {
		return nil
	}
	for _, i := range s.groups() {
		if !s.left("ratios of groups") {
			break
		}
		r := &ratios{search: s, group: s.options[i], places: map[[2]int]int{}}
		if err := r.refine(ctx, i == s.best); err != nil {
			return err
		}
	}
	return nil
}

// groups returns an option of each kind of group, the best fleet and then the nearest to being
// chosen first. Which of them are the cheapest does not follow from the ratios of the menu.
func (s *search) groups() (list []int) {
	for i, o := range s.options[:s.listed()] {
		if o.Decode != nil && s.mayBeatBest(i) && i != s.best && refines(o, s.Spare) {
			list = append(list, i)
		}
	}
	s.sortByNearness(list)
	if o := s.chosen(); o.Decode != nil && refines(o, s.Spare) {
		list = slices.Insert(list, 0, s.best)
	}
	seen := map[*candidate.Parts]bool{}
	list = slices.DeleteFunc(list, func(i int) bool {
		again := seen[s.options[i].Parts]
		seen[s.options[i].Parts] = true
		return again
	})
	return list[:min(len(list), mostRatios)]
}

// refines reports whether the ratio of a group is refined: those that lose replicas of either kind
// as spares do, do not lose whole groups.
func refines(o *candidate.Option, spare int) bool { return spare == 0 || !o.IsSpot() }

// ratios is what is known of fleets of one group each, which differ in the numbers of their prefill
// and decode replicas.
type ratios struct {
	*search
	group  *candidate.Option
	places map[[2]int]int // of the options, by index; 0 where an option cannot be built
	missed [][2]int       // the numbers that miss the SLO
}

// refine looks for the cheapest group. Where the best fleet is of these groups, the fewest prefill
// replicas beside all of its decode replicas, and then the fewest of these beside them, are near
// the cheapest ratio; else the decode replicas of as many groups as cost what the best fleet does.
// From there, the number of decode replicas goes down and up by one, each time with as many prefill
// replicas as cost less than the best fleet: more replicas of either kind serve no less. A
// direction ends with the second number that brings nothing.
func (r *ratios) refine(ctx context.Context, best bool) error {
	from := int(math.Round(r.cost() / r.group.Price * float64(r.group.Decodes)))
	first := from
	if best {
		n := r.outcomes[r.best].replicas
		x, y, err := r.fewest(ctx, n*int(r.group.Prefills), n*int(r.group.Decodes))
		if err != nil {
			return err
		}
		ok := r.Spare == 0
		if !ok { // whole groups were down so far
			if ok, err = r.keeps(ctx, x, y, true); err != nil {
				return err
			}
		}
		if ok {
			r.prefer(x, y)
		}
		from, first = y, y-1
	}
	for y, worse := first, 0; y > 0 && worse < 2; y-- {
		if err := r.beside(ctx, y, &worse); err != nil {
			return err
		}
	}
	for y, worse := from+1, 0; r.most(y) > 0 && worse < 2; y++ {
		if err := r.beside(ctx, y, &worse); err != nil {
			return err
		}
	}
	return nil
}

// mostGrown bounds by how many times as many replicas a group of another load may have.
const mostGrown = 4

// resize makes the cheapest group the best fleet, from n of the best one, given whether these keep
// the SLO. There is no best fleet where no fleet up to mostGrown times as large does.
func (r *ratios) resize(ctx context.Context, n int, keeps bool) error {
	prefills, decodes := n*int(r.group.Prefills), n*int(r.group.Decodes)
	if n == 1 {
		r.places[[2]int{prefills, decodes}] = r.best
	}
	if !keeps {
		r.missed = append(r.missed, [2]int{prefills, decodes})
		r.outcomes[r.best] = outcome{kind: simulated, words: missesCheaper}
	}
	for x, y := prefills, decodes; !keeps; {
		x, y = x+1+x/8, y+1+y/8
		if x > mostGrown*prefills {
			r.best = -1
			return nil
		}
		var err error
		if keeps, err = r.keeps(ctx, x, y, true); err != nil {
			return err
		}
		if keeps {
			r.best = r.places[[2]int{x, y}]
			r.outcomes[r.best] = outcome{kind: chosen, replicas: 1}
			r.group = r.options[r.best]
		}
	}
	err := r.refine(ctx, true)
	r.outcomes[r.best].sized = true
	return err
}

// fewest returns the fewest prefill replicas that keep the SLO beside y decode replicas, and then
// the fewest of these beside them. With x prefill replicas, a group is known to keep it.
func (r *ratios) fewest(ctx context.Context, x, y int) (prefills, decodes int, err error) {
	if prefills, err = r.fewestPrefills(ctx, x, y); err != nil {
		return 0, 0, err
	}
	decodes, err = fewer(y, func(y int, sure bool) (bool, error) {
		return r.keeps(ctx, prefills, y, sure)
	})
	return prefills, decodes, err
}

// beside looks for a group that costs less than the best fleet, with y decode replicas, and counts
// the numbers that brought nothing since one did.
func (r *ratios) beside(ctx context.Context, y int, worse *int) error {
	*worse++
	most := r.most(y)
	if most < 1 {
		return nil
	}
	ok, err := r.keeps(ctx, most, y, true)
	if err != nil || !ok {
		return err
	}
	*worse = 0
	x, err := r.fewestPrefills(ctx, most, y)
	if err == nil {
		r.prefer(x, y)
	}
	return err
}

// fewestPrefills returns the fewest prefill replicas that keep the SLO beside y decode replicas,
// where x are known to.
func (r *ratios) fewestPrefills(ctx context.Context, x, y int) (int, error) {
	return fewer(x, func(x int, sure bool) (bool, error) { return r.keeps(ctx, x, y, sure) })
}

// fewer returns the least number that is enough, where most is known to be. On the way to it,
// enough need not be sure.
func fewer(most int, enough func(n int, sure bool) (bool, error)) (int, error) {
	n, err := judge.FindLeast(judge.Least{First: max(1, most-1), Most: most - 1, High: most,
		Step: 1, Near: 1}, func(n int) (bool, error) { return enough(n, false) },
		func(n int) (bool, error) { return enough(n, true) })
	return cmp.Or(n, most), err
}

// most returns the largest number of prefill replicas that cost less than the best fleet beside
// some decode replicas.
func (r *ratios) most(decodes int) int {
	decode, prefill := r.group.Decode.Price, r.group.Prefill.Price
	left := r.cost()*(1-worthTuning) - float64(decodes+r.Spare)*decode
	return int(math.Ceil(left/prefill)) - 1 - r.Spare
}

// keeps reports whether a group of x prefill and y decode replicas keeps the SLO; unless it must be
// sure, one run that clearly keeps it is enough.
func (r *ratios) keeps(ctx context.Context, x, y int, sure bool) (bool, error) {
	if slices.ContainsFunc(r.missed, func(m [2]int) bool { return x <= m[0] && y <= m[1] }) {
		return false, nil
	}
	at := [2]int{x, y}
	place, known := r.places[at]
	if !known {
		group := *r.group
		group.Prefills, group.Decodes, group.Paired = int32(x), int32(y), r.Spare > 0
		group.GPUs = x*group.Prefill.GPUs + y*group.Decode.GPUs
		fresh, err := r.added(ctx, []*candidate.Option{&group})
		if err != nil {
			return false, err
		}
		if len(fresh) == 1 {
			place = fresh[0]
		}
		r.places[at] = place
	}
	if place == 0 || r.Fewest(r.options[place]) > 1 || r.Most(r.options[place]) < 1 {
		return false, nil
	}
	o, outcome := r.options[place], &r.outcomes[place]
	if !sure {
		ok, err := r.ClearlyKeeps(ctx, o, 1)
		if err = r.unlessBroken(place, err); ok || err != nil || outcome.kind == broken {
			return ok, err
		}
	}
	d, err := r.Decide(ctx, o, 1, o.Worst())
	if err = r.unlessBroken(place, err); err != nil || outcome.kind == broken {
		return false, err
	}
	outcome.kind, outcome.closest, outcome.words = simulated, d.Share, missesCheaper
	if d.Kept && o.Paired {
		d.Kept, err = r.keepsWithOneKindDown(ctx, o)
	}
	if !d.Kept {
		r.missed = append(r.missed, at)
	}
	return d.Kept, err
}

// keepsWithOneKindDown reports whether a group keeps the SLO while the spares of one kind are down,
// and the others are not. It may miss it then although it keeps it with both down:
// more prefill replicas send prompts on to the decode replicas at the same time.
func (r *ratios) keepsWithOneKindDown(ctx context.Context, o *candidate.Option) (bool, error) {
	prefills, decodes := *o, *o
	prefills.Prefills, prefills.Paired = o.Prefills+int32(r.Spare), false
	decodes.Decodes, decodes.Paired = o.Decodes+int32(r.Spare), false
	for _, left := range []*candidate.Option{&prefills, &decodes} {
		if d, err := r.Decide(ctx, left, 1, o.Worst()); err != nil || !d.Kept {
			return false, err
		}
	}
	return true, nil
}

// prefer makes a group the answer if it costs less.
func (r *ratios) prefer(prefills, decodes int) {
	place := r.places[[2]int{prefills, decodes}]
	if place > 0 && r.options[place].Cost(1+r.Spare) < r.cost()*(1-worthTuning) {
		r.outcomes[r.best].words = "another costs less"
		r.outcomes[place].replicas = 1
		r.makeBest(place)
	}
}
