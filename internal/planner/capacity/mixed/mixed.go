// Package mixed looks for fleets of two kinds of replicas that cost less than the best of one kind:
// for a steady load, and for one that follows the day.
package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
	"github.com/llmsim/llmsim/scenarios"
)

// Mixed fleets are simulated whose replicas sustain together, by their highest rates, nearly the
// load, since a fleet shares its requests more evenly than chance does, and up to mostMore replicas
// more. At most mostMixed are, half of which sustain less than the load so.
const (
	nearly    = 0.95
	mostMore  = 4
	mostMixed = 12
)

// Search looks for fleets beside the best, Fleet, which is of one kind.
type Search struct {
	detail.Fleet
	Options []*candidate.Option
}

// Pair is a fleet of two kinds of replicas.
type Pair struct {
	answer.Mixed // the spares are of the first kind
	Options      [2]*candidate.Option
	Rates        [2]float64 // that a replica of each kind sustains, in requests/s
	together     float64    // the rate that all without the spares sustain, by what each does alone
}

// sustain returns the rate that replicas of both kinds sustain, by what each does alone.
func (p *Pair) sustain(n [2]int) float64 {
	return float64(float64(n[0])*p.Rates[0]) + float64(float64(n[1])*p.Rates[1])
}

// Cheapest returns a fleet of two kinds of replicas that keeps the SLO and costs less than the
// answer: the cheapest of at most mostMixed fleets, which are simulated whole, spares down, the
// cheapest first. Fleets with a group of replicas are left out: a scenario has one pair of pools.
// It returns nil where none of them keeps the SLO.
func (s *Search) Cheapest(ctx context.Context, shapes []answer.Shape) (*answer.Mixed, error) {
	trials := *s.Trials
	trials.Recorded = false // parts of the work do not know the rates of all kinds
	shapes, err := s.rated(ctx, shapes)
	if err != nil {
		return nil, err
	}
	c := &cheapest{search: s, trials: &trials}
	c.Open, c.AtOnce, c.MayWin = s.pairs(shapes), 1, c.mayWin
	err = strategy.Search(ctx, c)
	return c.found, err
}

// cheapest is fleets of two kinds by their price, until one keeps the SLO.
type cheapest struct {
	search *Search
	strategy.Ordered[*Pair]
	trials *oracle.Trials
	tried  int
	found  *answer.Mixed
}

// mayWin reports whether a fleet is tried.
func (c *cheapest) mayWin(p *Pair) bool {
	return c.found == nil && c.tried < mostMixed &&
		(c.tried < mostMixed/2 || p.together >= c.search.Rate)
}

// Try simulates a fleet.
func (c *cheapest) Try(ctx context.Context, some []*Pair) error {
	c.tried++
	p := some[0]
	t, err := p.Judge(ctx, c.trials, c.search.Rate, c.search.Spare)
	if err != nil {
		return err
	}
	if p.Kept = t.Kept.Mean; t.Keeps() {
		c.found = &p.Mixed
	}
	return nil
}

// rated returns shapes with the rate of a replica of spot options too, while it is there.
func (s *Search) rated(ctx context.Context, shapes []answer.Shape) ([]answer.Shape, error) {
	shapes = slices.Clone(shapes)
	for i := range shapes {
		o := s.Options[shapes[i].Option]
		if !o.IsSpot() || shapes[i].Replicas == 0 || o.Decode != nil || o.Standing != nil {
			continue
		}
		rate, err := s.Alone(ctx, o, o.Worst(), s.Trials.File.Plan.Seed)
		if err != nil {
			return nil, err
		}
		shapes[i].Rate = rate
	}
	return shapes, nil
}

// Judge returns what a fleet shows at a rate, its spares down. Replicas of one of the kinds may be
// taken away at random, beside a base of the other that is not.
func (p *Pair) Judge(ctx context.Context, trials *oracle.Trials, rate float64,
	spare int) (oracle.Trial, error) {
	plan := &trials.File.Plan
	running := p.Replicas
	running[0] -= spare
	simulate := func(ctx context.Context, replicas [2]int) (oracle.Trial, error) {
		t, err := trials.Trial(ctx, p.Scenario(&plan.Menu, replicas), rate,
			plan.Together(rate, replicas[0]+replicas[1]))
		return t.Under(max(p.Options[0].Late, p.Options[1].Late)), err
	}
	spot := slices.IndexFunc(p.Options[:], (*candidate.Option).IsSpot)
	if spot < 0 {
		return simulate(ctx, running)
	}
	left := func(away int) [2]int {
		replicas := running
		replicas[spot] -= away
		return replicas
	}
	sustained := func(away int) float64 { return p.sustain(left(away)) }
	interruption, _ := p.Options[spot].Interrupted()
	f := oracle.InterruptedFleet{Interruption: interruption, Spot: running[spot], Step: 1,
		Rate: rate, Share: float64(running[spot]) * p.Rates[spot] / sustained(0),
		Sustained: sustained,
		Simulate: func(ctx context.Context, away int) (oracle.Trial, error) {
			return simulate(ctx, left(away))
		}}
	t, _, err := f.Judge(ctx)
	if err == nil {
		binds := asked.Binding(t.Clauses)
		t.Kept, t.Target = binds.Kept, binds.Target
	}
	return t, err
}

// pairs lists the fleets of two kinds that cost less than the answer and may keep the SLO, the
// cheapest first. A replica of the first kind sustains as much as one of the second, or more. Only
// one kind may be taken away.
func (s *Search) pairs(shapes []answer.Shape) []*Pair {
	var list []*Pair
	for i := range shapes {
		for j := range shapes {
			a, b := &shapes[i], &shapes[j]
			if i != j && b.Rate > 0 && (a.Rate > b.Rate || a.Rate == b.Rate && i < j) &&
				s.Options[a.Option].Decode == nil && s.Options[b.Option].Decode == nil &&
				!(s.Options[a.Option].IsSpot() && s.Options[b.Option].IsSpot()) &&
				s.mayMix(s.Options[a.Option], s.Options[b.Option]) {
				list = append(list, s.pairsOf(shapes, i, j)...)
			}
		}
	}
	slices.SortStableFunc(list, func(p, q *Pair) int {
		return cmp.Or(cmp.Compare(p.Hourly, q.Hourly), cmp.Compare(q.together, p.together))
	})
	return list
}

// mayMix reports whether a mixed fleet of two options may stand beside the answer. Spot replicas
// with a base of the same accelerators are options themselves.
func (s *Search) mayMix(a, b *candidate.Option) bool {
	p, one, other := &s.Trials.File.Plan, a.Prefill.Offer, b.Prefill.Offer
	return s.joined(a, b) && !p.Stays(one, other) && !p.Stays(other, one)
}

// joined reports whether one fleet may have replicas of two options, by their providers.
func (s *Search) joined(a, b *candidate.Option) bool {
	return s.Trials.File.Plan.Joins(a.Prefill.Offer, b.Prefill.Offer)
}

// pairsOf lists the fleets of two given kinds.
func (s *Search) pairsOf(shapes []answer.Shape, first, second int) (list []*Pair) {
	a, b := s.Options[shapes[first].Option], s.Options[shapes[second].Option]
	rateA, rateB := shapes[first].Rate, shapes[second].Rate
	price := func(n, m int) float64 {
		return float64(float64(n+s.Spare)*a.Price) + float64(float64(m)*b.Price)
	}
	most := s.Hourly * (1 - 1e-9)
	for n := 1; n < oracle.MostWhole && a.Available(n+s.Spare) && price(n, 1) < most; n++ {
		least := max(1, int(math.Ceil((nearly*s.Rate-float64(n)*rateA)/rateB)))
		for m := least; m <= min(least+mostMore, oracle.MostWhole-n) && b.Available(m) &&
			price(n, m) < most; m++ {
			p := &Pair{Options: [2]*candidate.Option{a, b}, Rates: [2]float64{rateA, rateB},
				Mixed: answer.Mixed{Replicas: [2]int{n + s.Spare, m}, Hourly: price(n, m),
					Labels: [2]string{shapes[first].Label, shapes[second].Label}}}
			p.together = p.sustain([2]int{n, m})
			p.Share = float64(n) * rateA / p.together
			list = append(list, p)
		}
	}
	return list
}

// Scenario returns a fleet of some replicas of each kind, with steps as slow as each kind's must be
// expected to be.
func (p *Pair) Scenario(menu *menu.Menu, replicas [2]int) scenarios.Scenario {
	for k, o := range p.Options {
		if replicas[1-k] == 0 {
			return o.Scenario(menu, replicas[k], o.Slow)
		}
	}
	all := p.Options[0].Scenario(menu, 1, p.Options[0].Slow)
	for k, o := range p.Options {
		one := o.Scenario(menu, 1, o.Slow)
		all.Fleet.Pools = append(all.Fleet.Pools, scenarios.Pool{
			Name: []string{"first", "second"}[k], Replicas: replicas[k],
			Hardware: one.Hardware, Parallelism: one.Parallelism, Engine: one.Engine,
			Batching: one.Batching, Memory: one.Memory, Speculation: one.Speculation})
	}
	if all.Routing.Policy == "" { // the default gives unequal replicas equal parts
		all.Routing.Policy = "least-requests"
	}
	return all
}
