package capacity

import (
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/horizon"
)

// overMonths plans the months of a horizon. Each server is sized by simulations of whole fleets at
// the load of the first month and of the last, and in between where the larger fleet has more
// replicas than the smaller one; but of loads for which all fleets have judge.Standing, only at the
// lowest, as parts stand for fleets of more. The hours of a day are the loads of its hours, as
// shares of the highest; nil where all are alike. Two kinds serve at once if x is not nil.
func overMonths(h *asked.Horizon, hours []float64, kinds []*growing,
	size func(factor float64) error, x *mixes) (*answer.Horizon, error) {
	at := loads(h, 1)
	var between func(low, high int) error
	between = func(low, high int) error {
		same := !slices.ContainsFunc(kinds, func(k *growing) bool {
			return k.replicas(at(low)) != k.replicas(at(high))
		})
		if same || high-low < 2 {
			return nil
		}
		mid := (low + high) / 2
		if err := size(at(mid)); err != nil {
			return err
		}
		if err := between(low, mid); err != nil {
			return err
		}
		return between(mid, high)
	}
	large := func(factor float64) bool {
		return !slices.ContainsFunc(kinds, func(k *growing) bool {
			n := k.replicas(factor)
			return 0 < n && n < judge.Standing
		})
	}
	last := h.Months - 1
	err := size(at(0))
	for share := 0.75; err == nil && len(hours) > 0 && share > slices.Min(hours); share -= 0.25 {
		err = size(share)
	}
	if err == nil && h.Growth > 0 {
		top := last
		for top > 0 && large(at(top-1)) {
			top--
		}
		if top > 0 {
			err = size(at(top))
		}
		if err == nil {
			err = between(0, top)
		}
		// Twice the expected growth is looked at too, more roughly.
		for share := 1.0; err == nil && share >= 0.5 && doubles(h); share -= 0.5 {
			if f := asked.Round(h.Factor(last, 1+share)); !large(at(top)) {
				err = size(f)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	a := &answer.Horizon{Months: h.Months, Growth: h.Growth, Change: h.Change.Amount}
	for _, k := range kinds {
		if k.replicas(at(last)) == 0 {
			a.TooFew = append(a.TooFew, k.label)
		}
	}
	return a, schedule(h, hours, kinds, x, a)
}

// loads returns the load of each month as a multiple of the first month's, with a growth that is by
// times the expected one.
func loads(h *asked.Horizon, by float64) func(month int) float64 {
	return func(month int) float64 { return asked.Round(h.Factor(month, by)) }
}

// doubles reports whether a load that grows twice as fast is one that a fleet is planned for.
func doubles(h *asked.Horizon) bool { return h.Factor(h.Months-1, 2) <= asked.MostGrowth }

// add notes the replicas for a load; 0 where there are too few. A larger load needs no fewer.
func (k *growing) add(factor float64, n int) {
	i, _ := slices.BinarySearch(k.factors, factor)
	k.factors, k.sizes = slices.Insert(k.factors, i, factor), slices.Insert(k.sizes, i, n)
	for i := 1; i < len(k.sizes); i++ {
		if k.sizes[i-1] == 0 {
			k.sizes[i] = 0
		} else if k.sizes[i] > 0 {
			k.sizes[i] = max(k.sizes[i], k.sizes[i-1])
		}
	}
}

// replicas returns how many replicas a server has for a multiple of the load; 0 where there are too
// few. Between and above loads that were simulated it has as many as the fleet of the next smaller
// one would have at the same rate of each, since larger fleets share their requests no less evenly,
// and no more than the fleet of the next larger one.
func (k *growing) replicas(factor float64) int {
	i, exact := slices.BinarySearch(k.factors, factor)
	if exact || i == 0 {
		return k.sizes[i]
	}
	alike := int(math.Ceil(float64(k.sizes[i-1]) * factor / k.factors[i-1] * (1 - 1e-12)))
	if i < len(k.sizes) {
		return min(alike, k.sizes[i])
	}
	if alike > k.most {
		return 0
	}
	return alike
}

// schedule finds what to rent, and what it costs to have begun so if the load grows otherwise.
func schedule(h *asked.Horizon, hours []float64, kinds []*growing, x *mixes,
	a *answer.Horizon) error {
	q := needsOf(h, hours, kinds, 1)
	best, err := horizon.Cheapest(q)
	if err == nil && x != nil {
		oneByOne := *best
		q.Beside = x.beside(loads(h, 1))
		best, a.Mixed, err = x.cheapest(q, loads(h, 1), best)
		if a.Mixed != nil && !math.IsInf(oneByOne.Cost, 1) {
			a.OneByOne = &answer.OneByOne{Cost: oneByOne.Cost, Changes: oneByOne.Changes}
		}
	}
	if err != nil || math.IsInf(best.Cost, 1) {
		return err
	}
	// question has the growth by times the expected one, with two kinds at once if the best has.
	question := func(h *asked.Horizon, by float64) *horizon.Question {
		q := needsOf(h, hours, kinds, by)
		if best.Mix != nil {
			q.Beside = x.beside(loads(h, by))
		}
		return q
	}
	a.Cost, a.Changes = best.Cost, best.Changes
	plain := *h
	plain.Commitments = nil
	uncommitted, err := horizon.Cheapest(question(&plain, 1))
	if err != nil {
		return err
	}
	a.Uncommitted = uncommitted.Cost
	for i, k := range kinds {
		if q.Kinds[i].Most > 0 {
			continue
		}
		alone, err := horizon.Cheapest(&horizon.Question{Kinds: q.Kinds[i : i+1]})
		if err != nil {
			return err
		}
		kind := answer.HorizonKind{Label: k.label, Cost: alone.Cost}
		for _, needs := range q.Kinds[i].Needs {
			kind.Replicas = append(kind.Replicas, len(needs))
		}
		a.Kinds = append(a.Kinds, kind)
	}
	for _, r := range best.Rentals {
		rental := answer.Rental{Replicas: r.Replicas, Term: 1, From: r.From + 1, To: r.To,
			Cost: r.Cost, Share: r.Share}
		ways, paid := kinds[r.Kind].ways(h.Months, h.Commitments)
		if r.Term != horizon.Uncommitted {
			paid, rental.Term = ways[r.Term].payment, min(ways[r.Term].Months, r.To-r.From)
		}
		rental.Label, rental.Paid = paid.label, paid.term
		a.Rentals = append(a.Rentals, rental)
	}
	if a.HalfRegret, err = best.Regret(question(h, 0.5)); err != nil || !doubles(h) {
		return err
	}
	if twice, err := best.Regret(question(h, 2)); err != nil || !math.IsNaN(twice) {
		a.TwiceRegret = &twice
		return err
	}
	return nil
}

// needsOf is the question for a growth that is by times the expected one, with one kind of server
// at a time.
func needsOf(h *asked.Horizon, hours []float64, kinds []*growing, by float64) *horizon.Question {
	q := &horizon.Question{Change: h.Change.Amount}
	for _, k := range kinds {
		kind := horizon.Kind{Name: k.label, Monthly: math.Inf(1),
			Fixed: k.fixed * asked.HoursOfMonth}
		ways, hourly := k.ways(h.Months, h.Commitments)
		for _, w := range ways {
			kind.Terms = append(kind.Terms, w.Term)
		}
		if hourly != nil {
			kind.Monthly = hourly.price * asked.HoursOfMonth
		}
		for m := range h.Months {
			factor := asked.Round(h.Factor(m, by))
			needs := horizon.Always(k.replicas(factor))
			if len(needs) == 0 {
				kind.Most, kind.Needs = k.most, append(kind.Needs, nil)
				continue
			}
			if hourly != nil && len(hours) > 0 {
				k.byTheHour(needs, factor, hours)
			}
			kind.Needs = append(kind.Needs, needs)
		}
		q.Kinds = append(q.Kinds, kind)
	}
	return q
}

// byTheHour sets the share of the time for which each replica is paid: for each hour whose highest
// load needs the replica, and for the hour before, in which the replica starts.
func (k *growing) byTheHour(needs []float64, factor float64, hours []float64) {
	clear(needs)
	for i, load := range hours { // at last the hours that need this number and no more
		next := hours[(i+1)%len(hours)]
		needs[k.replicas(asked.Round(factor*max(load, next)))-1]++
	}
	more := 0.0
	for n := len(needs) - 1; n >= 0; n-- {
		more += needs[n]
		needs[n] = more / float64(len(hours))
	}
}

// monthsKinds is how many servers a horizon is planned with, and monthsSpot how many more that are
// preempted.
const (
	monthsKinds = 4
	monthsSpot  = 2
)

// beside returns the answer's server and the ones whose fleets cost least beside it, and what sizes
// fleets of all of them for a multiple of the load. Over months, a server is one however it is paid
// for, and some that are preempted are beside it too; and where there may be too few of the
// answer's later, shapes that were not looked for because they cost much more.
func (s *cheapestGoal) beside(ctx context.Context, shapes []answer.Shape) (kinds []*growing,
	size func(factor float64) error) {
	p := payer{s.search}
	kinds = []*growing{p.paidFor(s.best)}
	left, spot, limited := monthsKinds-1, 0, false
	if s.Trials.File.Plan.Horizon != nil {
		spot, limited = monthsSpot, kinds[0].most < candidate.Unbounded
	}
	for i := range shapes {
		sh := &shapes[i]
		o, room := s.options[sh.Option], &left
		if o.IsSpot() {
			room = &spot
		}
		known := sh.Replicas > 0 || limited && sh.AtLeast > 0
		if known && *room > 0 && sh.Option != s.best && !o.Scaled() &&
			!slices.ContainsFunc(kinds, func(k *growing) bool { return k.has(p, o) }) {
			kinds = append(kinds, p.paidFor(sh.Option))
			*room--
		}
	}
	var list []int
	for _, k := range kinds {
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
		for _, k := range kinds {
			at := slices.Index(list, k.option)
			if o := other.options[at]; len(k.payments) > 1 {
				other.options[at] = o.On(k.widest)
			}
		}
		return s.sizeAt(ctx, factor, kinds, other, list)
	}
}

// mixes returns what finds fleets of two of some kinds at once; nil where replicas are paid by the
// hour.
func (s *cheapestGoal) mixes(ctx context.Context, kinds []*growing) *mixes {
	p := &s.Trials.File.Plan
	if p.Hours() != nil {
		return nil
	}
	of := func(k *growing) *candidate.Option { return s.options[k.option] }
	return &mixes{months: p.Horizon.Months, kinds: kinds, spare: s.Spare,
		joins: func(older, newer *growing) bool {
			a, b := of(older), of(newer)
			return plain(a) && plain(b) && a.Routing == b.Routing &&
				p.Joins(a.Prefill.Offer, b.Prefill.Offer)
		},
		stock: func(older, newer *growing) bool {
			return of(older).Uses(of(newer).Prefill.Offer.Accelerator)
		},
		simulate: func(f mixedFleet) (*answer.MixedFleet, error) { return s.mixed(ctx, f) },
	}
}

// mixed simulates a fleet of two kinds with several draws of the load: with its spares down, and
// steps and latencies as late as the plan demands. It returns nil where one misses the SLO; else
// also what the fleet shows with its spares, as predicted.
func (s *cheapestGoal) mixed(ctx context.Context, f mixedFleet) (*answer.MixedFleet, error) {
	other, err := s.again(ctx, detail.Input{Plan: func(p *asked.Plan) { p.ScaleRate(f.factor) }},
		[]int{f.older.option, f.newer.option})
	if err != nil {
		return nil, err
	}
	t, a, b := other.Trials, other.options[0].Late, other.options[1].Late
	late := asked.Late{First: max(a.First, b.First), FirstTail: max(a.FirstTail, b.FirstTail),
		Tail: max(a.Tail, b.Tail)}
	weight := asked.Round(f.newer.bears(s.Spare) / f.older.bears(s.Spare))
	shown := &answer.MixedFleet{Older: f.older.label, Kept: f.kept, Newer: f.newer.label,
		Added: f.added, Weight: weight, Rate: other.Rate, Seeds: togetherSeeds, Reduced: 1}
	for _, left := range f.left(s.Spare) {
		scenario := ofTwo(&t.File.Plan.Menu, other.options, left, weight, true)
		kept, requests, err := keepsTogether(ctx, t, scenario, left[0]+left[1], other.Rate, late)
		if err != nil || kept < 0 {
			return nil, err
		}
		shown.Reduced, shown.Requests = min(shown.Reduced, kept), max(shown.Requests, requests)
	}
	scenario := ofTwo(&t.File.Plan.Menu, other.options, [2]int{f.kept, f.added}, weight, false)
	run, requests, err := t.Fleet(ctx, scenario, f.kept+f.added, other.Rate, asked.LateBy(1),
		shown.Requests)
	if err != nil {
		return nil, err
	}
	shown.Requests, shown.Share = requests, run.All
	shown.TTFT, shown.TPOT = run.Latencies["p99_ttft_ms"], run.Latencies["p99_tpot_ms"]
	shown.Scenario, err = explained(t.File, scenario, other.Rate, requests)
	return shown, err
}

// prices returns what fleets cost for loads from a quarter of the asked one to twice it, to be
// drawn; nil where the load has neither a rate nor users.
func (s *cheapestGoal) prices(ctx context.Context, shapes []answer.Shape) ([]answer.PriceCurve,
	error) {
	p := s.Trials.File.Plan
	if !p.Steady() && p.Workload.Arrivals.Users == 0 || s.chosen().Scaled() ||
		!s.Trials.Shard.Mine(0) {
		return nil, nil // a size is where the search for the next one begins: one part does all
	}
	kinds, size := s.beside(ctx, shapes)
	for _, factor := range []float64{0.25, 0.5, 0.75, 1, 1.25, 1.5, 2} {
		if err := size(factor); err != nil {
			return nil, err
		}
	}
	var list []answer.PriceCurve
	for _, k := range kinds {
		c := answer.PriceCurve{Label: k.label}
		for i, n := range k.sizes {
			if n > 0 {
				load := p // whose users are a whole number
				load.ScaleRate(k.factors[i])
				c.Points = append(c.Points, answer.PricePoint{Rate: k.factors[i] * s.Rate,
					Users: load.Workload.Arrivals.Users, Replicas: n,
					Hourly: s.options[k.option].Cost(n)})
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
