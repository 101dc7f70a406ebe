package candidate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// predictionErrors says how wrong predictions may be, in the same way for all requests: steps with
// a law; TTFT with this and, independently, with a law of its own, for all that comes before the
// first token beside steps. So the errors of both latencies are correlated: slow steps make both
// late. High percentiles have laws of their own beside steps: FirstTail of TTFT, and Tail of TPOT
// and of E2E latency.
type predictionErrors struct {
	Steps, First, FirstTail, Tail evidence.Law
	// Decode is evidence.Spread.DecodeBias. First and FirstTail are beside steps without it.
	Decode float64
}

// Prompts is evidence.Spread.PromptSteps.
func (p *predictionErrors) Prompts(steps float64) float64 {
	return (&evidence.Spread{DecodeBias: p.Decode}).PromptSteps(steps)
}

// ErrorFactors is how far real times are from predicted ones: a factor on the times of steps, and
// factors on latencies beyond that.
type ErrorFactors struct {
	Steps float64
	asked.Late
}

// Within reports whether no latency is later than with other errors.
func (w ErrorFactors) Within(other ErrorFactors) bool {
	return w.Steps <= other.Steps && w.Steps*w.First <= other.Steps*other.First &&
		w.Steps*w.Tail <= other.Steps*other.Tail &&
		w.Steps*w.FirstTail <= other.Steps*other.FirstTail
}

// AsPredicted is what predictions say.
func AsPredicted() ErrorFactors { return ErrorFactors{1, asked.LateBy(1)} }

// PhysicsOf takes the spreads of all latencies apart from the spread of steps. All spread at least
// as much as steps do.
func PhysicsOf(s evidence.Spread) predictionErrors {
	steps := evidence.Law{Bias: s.TPOTBias, Spread: s.TPOT}
	beside := func(l evidence.Law, bias float64) evidence.Law {
		own := max(0, float64(l.Spread*l.Spread)-float64(steps.Spread*steps.Spread))
		return evidence.Law{Bias: l.Bias - bias, Spread: math.Sqrt(own)}
	}
	const high = 0.99
	prompts := steps.Bias - s.DecodeBias
	return predictionErrors{steps, beside(evidence.Law{Bias: s.TTFTBias, Spread: s.TTFT}, prompts),
		beside(s.Of(evidence.TTFT, high).Law(), prompts),
		beside(s.Of(evidence.E2E, high).Law(), steps.Bias), s.DecodeBias}
}

// Late is the distribution of the errors of TTFT, whatever steps take.
func (p predictionErrors) Late() evidence.Law { return p.whole(p.First, p.Decode) }

// whole is the distribution of the errors of a latency, given what it has beside steps whose bias
// is less by some.
func (p predictionErrors) whole(l evidence.Law, less float64) evidence.Law {
	return evidence.Law{Bias: p.Steps.Bias - less + l.Bias,
		Spread: math.Sqrt(float64(p.Steps.Spread*p.Steps.Spread) + float64(l.Spread*l.Spread))}
}

// Kept returns the probability that latencies leave an SLO kept that allows some factors on them,
// where steps are that many deviations slower than typical.
func (p predictionErrors) Kept(allowed asked.Late, deviations float64) float64 {
	least := min(p.First.DeviationsOf(allowed.First),
		p.FirstTail.DeviationsOf(allowed.FirstTail), p.Tail.DeviationsOf(allowed.Tail))
	if p.Steps.Spread == 0 {
		return evidence.Within(least)
	}
	return evidence.WithinGiven(least, deviations)
}

// Worst returns the errors under which an option is simulated: each latency is as late as it is in
// that share of the cases at most. TTFT is never earlier than steps make it, so that bounds of the
// work that must be done by some time hold.
func (p predictionErrors) Worst(confidence float64) ErrorFactors {
	steps := p.Steps.Quantile(confidence)
	beyond := func(l evidence.Law, less float64) float64 {
		late := p.whole(l, less).Quantile(confidence) / (steps * math.Exp(-less))
		return max(1, math.Round(1e4*late)/1e4)
	}
	return ErrorFactors{steps, asked.Late{First: beyond(p.First, p.Decode),
		FirstTail: beyond(p.FirstTail, p.Decode), Tail: beyond(p.Tail, 0)}}
}

// Rank returns the place of a grade among the grades of shipped evidence, the best first; -1 for
// evidence.Here, which is better than all of them.
func Rank(g evidence.Grade) int { return slices.Index(evidence.Grades(), g) }

// trusted reports whether a plan that trusts one grade accepts another.
func trusted(trust string, grade evidence.Grade) bool {
	return trust == "" || trust == "any" || Rank(grade) <= Rank(evidence.Grade(trust))
}

// unmeasured names a latency that the SLO limits, of a server that was measured, but without this
// latency; empty without one.
func unmeasured(p *asked.Plan, e *evidence.Evidence) string {
	if e.Grade != evidence.Measured {
		return ""
	}
	list := []scenarios.SLO{p.SLO}
	for i := range p.Workload.Classes {
		list = append(list, p.Workload.Classes[i].SLO)
	}
	for i := range list {
		s := &list[i]
		whole := s.E2E.Strictest() > 0
		for _, one := range []struct {
			name    string
			limited bool
		}{{"TTFT", s.TTFT.Strictest() > 0 || whole}, {"TPOT", s.TPOT.Strictest() > 0 || whole}} {
			if one.limited && !slices.ContainsFunc(e.Errors,
				func(e evidence.Error) bool { return e.Quantity == one.name }) {
				return one.name
			}
		}
	}
	return ""
}

// BestMeasured returns the cheapest measured shape. If no shape was measured, it returns the
// cheapest shape with a better grade than the cheapest of all. It returns nil if no option was
// measured, or if the cheapest of all was measured.
func BestMeasured(shapes []answer.Shape) *answer.Shape {
	var best *answer.Shape
	for i := range shapes {
		s := &shapes[i]
		switch {
		case s.Replicas == 0:
		case Rank(s.Grade) <= Rank(evidence.Measured) && i == 0:
			return nil
		case Rank(s.Grade) <= Rank(evidence.Measured):
			return s
		case best == nil && Rank(s.Grade) < Rank(shapes[0].Grade):
			best = s
		}
	}
	return best
}

// Interruption describes how replicas of an option are preempted and come back. Each replica has
// interruptions of its own, and shares some with all others (Marshall and Olkin, "A multivariate
// exponential distribution", J. American Statistical Association 62, 1967, section 3).
type Interruption struct {
	Rate float64 // preemptions of each replica, 1/s
	// Together is the share of them, in [0, 1], that preempt all replicas at once.
	Together float64
	// Notice is the time in seconds from the announcement until a replica is gone. Outage is the
	// time in seconds after that, at least 0, until another serves in its place.
	Notice, Outage float64
}

// Interrupted returns how replicas of an option are preempted; false where they are not. Of a
// group, all replicas go together, at the sum of both kinds' rates.
func (o *Option) Interrupted() (Interruption, bool) {
	var all Interruption
	for _, s := range o.Servers() {
		if s.Offer.Term != asked.Spot {
			continue
		}
		notice, back := sim.Time(s.Offer.Notice).Seconds(), sim.Time(s.Offer.Return).Seconds()
		rate := float64(s.Offer.Interruptions)
		all.Together = (float64(all.Together*all.Rate) + float64(s.Offer.Together*rate)) /
			(all.Rate + rate)
		all.Rate += rate
		all.Notice, all.Outage = notice, max(all.Outage, back-notice)
	}
	all.Outage = max(all.Outage, 0)
	return all, all.Rate > 0
}

// IsSpot reports whether replicas of an option may be preempted.
func (o *Option) IsSpot() bool {
	_, is := o.Interrupted()
	return is
}

// down returns the share of the time that a renewal process of interruptions at a rate and of
// outages spends in these.
func (p Interruption) down(rate float64) float64 {
	gone := float64(rate * p.Outage)
	return gone / (1 + gone)
}

// All returns the share of the time in an outage of all replicas.
func (p Interruption) All() float64 { return p.down(p.Together * p.Rate) }

// Alone returns the share of the other time in an outage of a replica by itself.
func (p Interruption) Alone() float64 { return p.down((1 - p.Together) * p.Rate) }

// Down returns the share of the time in which a replica is down in the long run.
func (p Interruption) Down() float64 { return 1 - float64((1-p.All())*(1-p.Alone())) }

// Words says what interruptions leave of the SLO of a fleet that keeps it without interruptions.
func (p Interruption) Words(kept float64) string {
	words := ""
	if p.Together > 0 {
		words = fmt.Sprintf(" (%s of the times with all others)", units.Percent(p.Together))
	}
	return fmt.Sprintf("%s of the requests keep the SLO in the long run: a replica is preempted "+
		"%s times an hour%s, and down for %s of the time", units.Percent(kept),
		units.Figure(3600*p.Rate), words, units.Percent(p.Down()))
}

// Outage is a time in seconds for which a replica is down.
type Outage struct{ From, To float64 }

// Draw draws the outages of n replicas or groups whose interruptions are announced within a time
// in seconds. Each replica's own come from a source of its own, and the ones that hit all from
// another, so that they do not depend on n.
func (p Interruption) Draw(n int, within float64, seed uint64) [][]Outage {
	shared := p.renew(p.Together*p.Rate, within, rand.New(rand.NewPCG(^seed, 0)))
	all := make([][]Outage, n)
	for k := range all {
		own := p.renew((1-p.Together)*p.Rate, within, rand.New(rand.NewPCG(seed, uint64(k))))
		all[k] = union(own, shared)
	}
	return all
}

// renew draws outages at a rate, one after another.
func (p Interruption) renew(rate, within float64, source *rand.Rand) []Outage {
	var list []Outage
	for at := source.ExpFloat64() / rate; at < within; at += source.ExpFloat64() / rate {
		at += p.Notice
		list = append(list, Outage{at, at + p.Outage})
		at += p.Outage
	}
	return list
}

// union joins two lists of outages, which may overlap.
func union(a, b []Outage) []Outage {
	if len(b) == 0 {
		return a
	}
	list := slices.Concat(a, b)
	slices.SortFunc(list, func(a, b Outage) int { return cmp.Compare(a.From, b.From) })
	joined := list[:0]
	for _, next := range list {
		if last := len(joined) - 1; last >= 0 && next.From <= joined[last].To {
			joined[last].To = math.Max(joined[last].To, next.To)
			continue
		}
		joined = append(joined, next)
	}
	return joined
}

// Prices lists the prices of all servers that can be built of some options, with their sources, the
// chosen option's first; chosen may be nil. It names each offer once.
func Prices(options []*Option, chosen *Option, currency units.Currency) []answer.Price {
	var list []answer.Price
	known := map[*asked.Offer]bool{}
	add := func(o *Option, chosen bool) {
		for _, server := range []*Server{o.Prefill, o.Decode, o.Standing} {
			if server == nil || server.Unfit != "" {
				continue
			}
			if server.GiB > 0 {
				price := StorePrice("a GiB of host memory", "host", server.GiB)
				price.Currency = currency.Code()
				list = addPrice(list, price, chosen)
			}
			if server.Disk > 0 {
				price := StorePrice("a GiB of disk", "nvme", server.Disk)
				price.Currency = currency.Code()
				list = addPrice(list, price, chosen)
			}
			if !known[server.Offer] {
				known[server.Offer] = true
				list = addPrice(list, priceOf(server), chosen)
			}
		}
	}
	if chosen != nil {
		add(chosen, true)
	}
	for _, o := range options {
		add(o, false)
	}
	return list
}

// addPrice adds a price that is not in the list.
func addPrice(list []answer.Price, price answer.Price, chosen bool) []answer.Price {
	same := func(other answer.Price) bool {
		other.Chosen = false
		return other == price
	}
	if slices.ContainsFunc(list, same) {
		return list
	}
	price.Chosen = chosen
	return append(list, price)
}

// Hourly is the price of an hour of each of the server's accelerators.
func (s *Server) Hourly() float64 { return (s.Price - s.Host) / float64(s.GPUs) }

// priceOf says where the price of a server's accelerators is from: what was bought, the price file
// or the plan, or else the catalogue, whose sources have the year.
func priceOf(s *Server) answer.Price {
	o := s.Offer
	price := answer.Price{Accelerator: o.Accelerator, Hourly: s.Hourly(),
		Currency: o.Price.Currency.Code(), Term: o.RentedOn(), Region: o.Region,
		Provider: o.Provider, Date: o.Date, Source: o.PriceSource()}
	switch {
	case price.Source != "":
	case o.File != "":
		price.Source = o.File
	default:
		if l, known := o.Listed(); known {
			price.Source, price.Date, price.Provider = l.Source, l.Date, l.Provider
		}
	}
	return price
}

// Unpriced returns a memory without its prices.
func Unpriced(m scenarios.KVMemory) scenarios.KVMemory {
	none := scenarios.Price{}
	m.Price, m.DiskPrice, m.PoolPrice = none, none, none
	m.Tiers = slices.Clone(m.Tiers)
	for i := range m.Tiers {
		m.Tiers[i].Price = ""
	}
	return m
}

// StorePrice says where the price of a GiB of a store is from: the catalogue, if it is listed
// there, or else the plan.
func StorePrice(name, store string, hourly float64) answer.Price {
	price := answer.Price{Accelerator: name, Hourly: hourly, Term: "on-demand",
		Source: "menu.memory"}
	if l, err := hardware.StorePrice(store); err == nil && l.Price == hourly {
		price.Source, price.Date, price.Provider = l.Source, l.Date, l.Provider
	}
	return price
}
