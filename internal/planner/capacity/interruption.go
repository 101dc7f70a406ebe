package capacity

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/sim"
)

// interruption describes how replicas of an option are taken away and come back. Each replica has
// interruptions of its own, and shares some with all others (Marshall and Olkin, "A multivariate
// exponential distribution", J. American Statistical Association 62, 1967, section 3).
type interruption struct {
	rate float64 // how often each, 1/s
	// together is the share of the interruptions that take all replicas away at once.
	together float64
	// notice passes from the announcement until a replica is gone, and away is for how long then
	// none serves in its place, in seconds.
	notice, away float64
}

// interrupted returns how replicas of an option are taken away; false where they are not. Of a
// group, all replicas go together, as often as those of either kind would.
func (o *option) interrupted() (interruption, bool) {
	var all interruption
	for _, s := range o.servers() {
		if s.offer.Term != menu.Spot {
			continue
		}
		notice, back := sim.Time(s.offer.Notice).Seconds(), sim.Time(s.offer.Return).Seconds()
		rate := float64(s.offer.Interruptions)
		all.together = (float64(all.together*all.rate) + float64(s.offer.Together*rate)) /
			(all.rate + rate)
		all.rate += rate
		all.notice, all.away = notice, max(all.away, back-notice)
	}
	all.away = max(all.away, 0)
	return all, all.rate > 0
}

// isSpot reports whether replicas of an option are taken away.
func (o *option) isSpot() bool {
	_, taken := o.interrupted()
	return taken
}

// absent returns the share of the time that a renewal process of interruptions at a rate and of
// absences spends in these.
func (p interruption) absent(rate float64) float64 {
	absent := float64(rate * p.away)
	return absent / (1 + absent)
}

// all returns the share of the time for which all replicas are away at once.
func (p interruption) all() float64 { return p.absent(p.together * p.rate) }

// alone returns the share of the other time for which a replica is away by itself.
func (p interruption) alone() float64 { return p.absent((1 - p.together) * p.rate) }

// down returns the share of the time for which a replica is away in the long run.
func (p interruption) down() float64 { return 1 - float64((1-p.all())*(1-p.alone())) }

// words says what interruptions leave of the SLO of a fleet that keeps it while they are none.
func (p interruption) words(kept float64) string {
	words := ""
	if p.together > 0 {
		words = fmt.Sprintf(" (%s of the times with all others)", report.Percent(p.together))
	}
	return fmt.Sprintf("%s of the requests keep the SLO in the long run: a replica is taken away "+
		"%s times an hour%s, and away for %s of the time", report.Percent(kept),
		report.Figure(3600*p.rate), words, report.Percent(p.down()))
}

// absence is a time in seconds for which a replica is away.
type absence struct{ from, to float64 }

// draw draws the absences of n replicas or groups whose interruptions are announced within a time
// in seconds. Those of each replica come from a source of its own, and those of all from another
// one, so that they do not depend on n.
func (p interruption) draw(n int, within float64, seed uint64) [][]absence {
	shared := p.renew(p.together*p.rate, within, rand.New(rand.NewPCG(^seed, 0)))
	all := make([][]absence, n)
	for k := range all {
		own := p.renew((1-p.together)*p.rate, within, rand.New(rand.NewPCG(seed, uint64(k))))
		all[k] = union(own, shared)
	}
	return all
}

// renew draws absences at a rate, one after another.
func (p interruption) renew(rate, within float64, source *rand.Rand) []absence {
	if rate == 0 {
		return nil
	}
	var list []absence
	for at := source.ExpFloat64() / rate; at < within; at += source.ExpFloat64() / rate {
		at += p.notice
		list = append(list, absence{at, at + p.away})
		at += p.away
	}
	return list
}

// union joins two lists of absences, of which some may overlap.
func union(a, b []absence) []absence {
	if len(b) == 0 {
		return a
	}
	list := slices.Concat(a, b)
	slices.SortFunc(list, func(a, b absence) int { return cmp.Compare(a.from, b.from) })
	joined := list[:0]
	for _, next := range list {
		if last := len(joined) - 1; last >= 0 && next.from <= joined[last].to {
			joined[last].to = math.Max(joined[last].to, next.to)
			continue
		}
		joined = append(joined, next)
	}
	return joined
}
