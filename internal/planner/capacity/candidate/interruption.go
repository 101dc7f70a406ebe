package candidate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/sim"
)

// Interruption describes how replicas of an option are taken away and come back. Each replica has
// interruptions of its own, and shares some with all others (Marshall and Olkin, "A multivariate
// exponential distribution", J. American Statistical Association 62, 1967, section 3).
type Interruption struct {
	Rate float64 // how often each, 1/s
	// Together is the share of the interruptions that take all replicas away at once.
	Together float64
	// Notice passes from the announcement until a replica is gone, and away is for how long then no
	// replica serves in its place, in seconds.
	Notice, Away float64
}

// Interrupted returns how replicas of an option are taken away; false where they are not. Of a
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
		all.Notice, all.Away = notice, max(all.Away, back-notice)
	}
	all.Away = max(all.Away, 0)
	return all, all.Rate > 0
}

// IsSpot reports whether replicas of an option are taken away.
func (o *Option) IsSpot() bool {
	_, taken := o.Interrupted()
	return taken
}

// absent returns the share of the time that a renewal process of interruptions at a rate and of
// absences spends in these.
func (p Interruption) absent(rate float64) float64 {
	absent := float64(rate * p.Away)
	return absent / (1 + absent)
}

// All returns the share of the time for which all replicas are away at once.
func (p Interruption) All() float64 { return p.absent(p.Together * p.Rate) }

// Alone returns the share of the other time for which a replica is away by itself.
func (p Interruption) Alone() float64 { return p.absent((1 - p.Together) * p.Rate) }

// Down returns the share of the time for which a replica is away in the long run.
func (p Interruption) Down() float64 { return 1 - float64((1-p.All())*(1-p.Alone())) }

// Words says what interruptions leave of the SLO of a fleet that keeps it without interruptions.
func (p Interruption) Words(kept float64) string {
	words := ""
	if p.Together > 0 {
		words = fmt.Sprintf(" (%s of the times with all others)", report.Percent(p.Together))
	}
	return fmt.Sprintf("%s of the requests keep the SLO in the long run: a replica is taken away "+
		"%s times an hour%s, and away for %s of the time", report.Percent(kept),
		report.Figure(3600*p.Rate), words, report.Percent(p.Down()))
}

// Absence is a time in seconds for which a replica is away.
type Absence struct{ From, To float64 }

// Draw draws the absences of n replicas or groups whose interruptions are announced within a time
// in seconds. Each replica's own come from a source of its own, and the ones that hit all from
// another, so that they do not depend on n.
func (p Interruption) Draw(n int, within float64, seed uint64) [][]Absence {
	shared := p.renew(p.Together*p.Rate, within, rand.New(rand.NewPCG(^seed, 0)))
	all := make([][]Absence, n)
	for k := range all {
		own := p.renew((1-p.Together)*p.Rate, within, rand.New(rand.NewPCG(seed, uint64(k))))
		all[k] = union(own, shared)
	}
	return all
}

// renew draws absences at a rate, one after another.
func (p Interruption) renew(rate, within float64, source *rand.Rand) []Absence {
	var list []Absence
	for at := source.ExpFloat64() / rate; at < within; at += source.ExpFloat64() / rate {
		at += p.Notice
		list = append(list, Absence{at, at + p.Away})
		at += p.Away
	}
	return list
}

// union joins two lists of absences, which may overlap.
func union(a, b []Absence) []Absence {
	if len(b) == 0 {
		return a
	}
	list := slices.Concat(a, b)
	slices.SortFunc(list, func(a, b Absence) int { return cmp.Compare(a.From, b.From) })
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
