package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Mixed fleets are simulated whose replicas sustain together, by their highest rates, nearly the
// load, since a fleet shares its requests more evenly than chance does, and up to mostMore replicas
// more. At most mostMixed are, half of which sustain less than the load so.
const (
	nearly    = 0.95
	mostMore  = 4
	mostMixed = 12
)

// pair is a fleet of two kinds of replicas: shapes of an answer.
type pair struct {
	first, second         int
	n, m                  int // without the spares, which are of the first kind
	hourly, predictedRate float64
}

// mixed returns a fleet of two kinds of replicas that keeps the SLO and costs less than the answer:
// the cheapest of at most mostMixed fleets, which are simulated whole, spares down, the cheapest
// first. Fleets with a group of replicas are left out: a scenario has one pair of pools. It returns
// nil where none of them keeps the SLO.
func (s *search) mixed(ctx context.Context, shapes []answer.Shape) (*answer.Mixed, error) {
	trials := *s.Trials
	trials.Recorded = false // parts of the work do not know the rates of all kinds
	shapes, err := s.rated(ctx, shapes)
	if err != nil {
		return nil, err
	}
	tried := 0
	for _, p := range s.pairs(shapes) {
		if tried == mostMixed || tried >= mostMixed/2 && p.predictedRate < s.Rate {
			continue
		}
		tried++
		m := s.mix(&p, shapes)
		t, err := m.judge(ctx, &trials, s.Rate, s.Spare, [2]float64{
			shapes[p.first].Rate, shapes[p.second].Rate})
		if err != nil {
			return nil, err
		}
		if m.Kept = t.Kept.Mean; t.Keeps() {
			return &m.Mixed, nil
		}
	}
	return nil, nil
}

// rated returns shapes with the rate of a replica of spot options too, while it is there.
func (s *search) rated(ctx context.Context, shapes []answer.Shape) ([]answer.Shape, error) {
	shapes = slices.Clone(shapes)
	for i := range shapes {
		o := s.options[shapes[i].Option]
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

// judge returns what a mixed fleet shows at a rate, its spares down, where a replica of each kind
// sustains the given rates. Replicas of one of the kinds may be taken away at random, beside a base
// of the other that is not.
func (m *mixed) judge(ctx context.Context, trials *oracle.Trials, rate float64, spare int,
	rates [2]float64) (oracle.Trial, error) {
	plan := &trials.File.Plan
	running := m.Replicas
	running[0] -= spare
	simulate := func(ctx context.Context, replicas [2]int) (oracle.Trial, error) {
		t, err := trials.Trial(ctx, m.scenario(&plan.Menu, replicas), rate,
			plan.Together(rate, replicas[0]+replicas[1]))
		return t.Under(max(m.options[0].Late, m.options[1].Late)), err
	}
	spot := slices.IndexFunc(m.options[:], (*candidate.Option).IsSpot)
	if spot < 0 {
		return simulate(ctx, running)
	}
	left := func(away int) [2]int {
		replicas := running
		replicas[spot] -= away
		return replicas
	}
	sustained := func(away int) float64 {
		n := left(away)
		return float64(float64(n[0])*rates[0]) + float64(float64(n[1])*rates[1])
	}
	p, _ := m.options[spot].Interrupted()
	f := oracle.InterruptedFleet{Interruption: p, Spot: running[spot], Step: 1, Rate: rate,
		Share: float64(running[spot]) * rates[spot] / sustained(0), Sustained: sustained,
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

// mixed is a fleet of two kinds of replicas, with its options.
type mixed struct {
	answer.Mixed
	options [2]*candidate.Option
}

// mix describes a pair.
func (s *search) mix(p *pair, shapes []answer.Shape) *mixed {
	a, b := &shapes[p.first], &shapes[p.second]
	return &mixed{answer.Mixed{Labels: [2]string{a.Label, b.Label},
		Replicas: [2]int{p.n + s.Spare, p.m}, Hourly: p.hourly,
		Share: float64(p.n) * a.Rate / p.predictedRate},
		[2]*candidate.Option{s.options[a.Option], s.options[b.Option]}}
}

// pairs lists the fleets of two kinds that cost less than the answer and may keep the SLO, the
// cheapest first. A replica of the first kind sustains as much as one of the second, or more. Only
// one kind may be taken away.
func (s *search) pairs(shapes []answer.Shape) []pair {
	var list []pair
	for i := range shapes {
		for j := range shapes {
			a, b := &shapes[i], &shapes[j]
			if i != j && b.Rate > 0 && (a.Rate > b.Rate || a.Rate == b.Rate && i < j) &&
				s.options[a.Option].Decode == nil && s.options[b.Option].Decode == nil &&
				!(s.options[a.Option].IsSpot() && s.options[b.Option].IsSpot()) &&
				s.mayMix(s.options[a.Option], s.options[b.Option]) {
				list = append(list, s.pairsOf(shapes, i, j)...)
			}
		}
	}
	slices.SortStableFunc(list, func(p, q pair) int {
		return cmp.Or(cmp.Compare(p.hourly, q.hourly),
			cmp.Compare(q.predictedRate, p.predictedRate))
	})
	return list
}

// mayMix reports whether a mixed fleet of two options may stand beside the answer. Spot replicas
// with a base of the same accelerators are options themselves.
func (s *search) mayMix(a, b *candidate.Option) bool {
	p, one, other := &s.Trials.File.Plan, a.Prefill.Offer, b.Prefill.Offer
	return joined(&s.Judge, a, b) && !p.Stays(one, other) && !p.Stays(other, one)
}

// joined reports whether one fleet may have replicas of two options, by their providers.
func joined(s *judge.Judge, a, b *candidate.Option) bool {
	return s.Trials.File.Plan.Joins(a.Prefill.Offer, b.Prefill.Offer)
}

// pairsOf lists the fleets of two given kinds.
func (s *search) pairsOf(shapes []answer.Shape, first, second int) (list []pair) {
	a, b := s.options[shapes[first].Option], s.options[shapes[second].Option]
	rateA, rateB := shapes[first].Rate, shapes[second].Rate
	price := func(n, m int) float64 {
		return float64(float64(n+s.Spare)*a.Price) + float64(float64(m)*b.Price)
	}
	most := s.cost() * (1 - 1e-9)
	for n := 1; n < oracle.MostWhole && a.Available(n+s.Spare) && price(n, 1) < most; n++ {
		least := max(1, int(math.Ceil((nearly*s.Rate-float64(n)*rateA)/rateB)))
		for m := least; m <= min(least+mostMore, oracle.MostWhole-n) && b.Available(m) &&
			price(n, m) < most; m++ {
			list = append(list, pair{first, second, n, m, price(n, m),
				float64(float64(n)*rateA) + float64(float64(m)*rateB)})
		}
	}
	return list
}

// scenario returns a fleet of some replicas of each kind, with steps as slow as each kind's must be
// expected to be.
func (m *mixed) scenario(menu *menu.Menu, replicas [2]int) scenarios.Scenario {
	for k, o := range m.options {
		if replicas[1-k] == 0 {
			return o.Scenario(menu, replicas[k], o.Slow)
		}
	}
	all := m.options[0].Scenario(menu, 1, m.options[0].Slow)
	for k, o := range m.options {
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

// slots is the number of quarters of an hour in a day.
const slots = 96

// autoscaled counts the replicas that a wave needs over a day, each slot with those of the next, so
// that they have started by then. It is nil for a load that does not change.
func (s *search) autoscaled(rate *scenarios.Rate, shapes []answer.Shape) *answer.Autoscaled {
	if rate.Pattern != "wave" {
		return nil
	}
	one := s.Rate / float64(s.outcomes[s.best].replicas)
	for i := range shapes {
		if shapes[i].Option == s.best {
			one = max(one, s.each(&shapes[i]))
		}
	}
	need := func(slot int) int {
		return max(1, int(math.Ceil(loadAt(rate, slot)/one))) + s.Spare
	}
	a := &answer.Autoscaled{Fixed: float64(24 * s.accelerators()), Least: math.MaxInt}
	for slot := range slots {
		n := max(need(slot), need(slot+1))
		a.Least, a.Most = min(a.Least, n), max(a.Most, n)
		a.Scaled += float64(n*s.chosen().GPUs) * 24 / slots
	}
	return a
}

// each returns the rate that a replica of a shape serves in a fleet: no more than what it sustains
// alone, and no more than its share of the load where a fleet was found to need more replicas.
func (s *search) each(sh *answer.Shape) float64 {
	if n := sh.Replicas - s.Spare; n > 0 && float64(n-1)*sh.Rate >= s.Rate {
		return s.Rate / float64(n)
	}
	return sh.Rate
}

// loadAt is the rate of a wave at the beginning of a slot.
func loadAt(rate *scenarios.Rate, slot int) float64 {
	period := sim.Time(cmp.Or(rate.Period, menu.Day)).Seconds()
	phase := 2 * math.Pi * (float64(slot)*24*3600/slots - sim.Time(rate.Peak).Seconds()) / period
	return float64(rate.Average) * (1 + float64(rate.Swing*math.Cos(phase)))
}

// rented finds the cheapest base and peak for a wave: of every two kinds of replicas of which the
// second can be given back, and every size of the base. As for autoscaling, each slot has the
// replicas that the next one needs. It is nil for a load that does not change.
func (s *search) rented(rate *scenarios.Rate, shapes []answer.Shape) *answer.Rented {
	if rate.Pattern != "wave" {
		return nil
	}
	var best *answer.Rented
	for i := range shapes {
		for j := range shapes {
			if r := s.rentedOf(rate, &shapes[i], &shapes[j]); r != nil &&
				(best == nil || r.Daily < best.Daily*(1-1e-9)) {
				best = r
			}
		}
	}
	if best != nil {
		best.Fixed = 24 * s.cost()
	}
	return best
}

// rentedOf finds the cheapest base of one kind with a peak of another; nil where there is none.
func (s *search) rentedOf(rate *scenarios.Rate, base, peak *answer.Shape) *answer.Rented {
	a, b := s.options[base.Option], s.options[peak.Option]
	always, hourly := s.each(base), s.each(peak)
	if always == 0 || hourly == 0 || !b.Prefill.Offer.ByHour() || !joined(&s.Judge, a, b) {
		return nil
	}
	highest := float64(rate.Average) * (1 + rate.Swing)
	var best *answer.Rented
	for n := range int(math.Ceil(highest/always)) + 1 {
		r := &answer.Rented{Base: base.Label, BaseReplicas: n + s.Spare, Peak: peak.Label,
			Daily: 24 * float64(n+s.Spare) * a.Price}
		for slot := range slots {
			load := max(loadAt(rate, slot), loadAt(rate, slot+1)) - float64(n)*always
			m := max(0, int(math.Ceil(load/hourly-1e-9)))
			r.PeakReplicas = max(r.PeakReplicas, m)
			r.Daily += float64(m) * b.Price * 24 / slots
		}
		if a.Available(n+s.Spare) && b.Available(r.PeakReplicas) &&
			(best == nil || r.Daily < best.Daily) {
			best = r
		}
	}
	return best
}
