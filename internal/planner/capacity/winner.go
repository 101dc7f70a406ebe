package capacity

import (
	"cmp"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
)

// replicas and cost of the best fleet, spares included.
func (s *search) size() int                 { return s.outcomes[s.best].replicas + s.Spare }
func (s *search) cost() float64             { return s.hourly(s.best) }
func (s *search) chosen() *candidate.Option { return s.options[s.best] }
func (s *search) accelerators() int         { return s.size() * s.chosen().GPUs }

// hourly is what the fleet of an option costs whose number of replicas is known, in $/h.
func (s *search) hourly(i int) float64 {
	outcome, o := &s.outcomes[i], s.options[i]
	if o.Scaled() {
		return float64(outcome.running * o.Price)
	}
	return o.Cost(outcome.replicas + s.Spare)
}

// beats reports whether a fixed number of replicas of o, with the spares, is a better answer than
// the best.
func (s *search) beats(o *candidate.Option, n int) bool {
	return s.wins(o, n, o.Cost(n+s.Spare))
}

// wins reports whether n replicas of o, with the spares, at that price an hour are a better answer
// than the best: cheaper, or as cheap with better evidence, with fewer accelerators, or earlier on
// the menu.
func (s *search) wins(o *candidate.Option, n int, hourly float64) bool {
	if s.best < 0 {
		return true
	}
	return cmp.Or(cmp.Compare(hourly, s.cost()),
		cmp.Compare(candidate.Rank(o.Grade), candidate.Rank(s.chosen().Grade)),
		cmp.Compare((n+s.Spare)*o.GPUs, s.accelerators()), cmp.Compare(o.Index, s.best)) < 0
}

// mayWin reports whether an option could be the better answer, by the bounds.
func (s *search) mayWin(i int) bool {
	return s.wins(s.options[i], s.Fewest(s.options[i]), s.leastCost(i))
}

// leastCost returns the least that a fleet of option i could cost, by the bounds.
func (s *search) leastCost(i int) float64 {
	o := s.options[i]
	if o.Scaled() {
		return float64(max(o.Scaling.Mean, float64(o.Always()+s.Spare)) * o.Price)
	}
	return o.Cost(s.Fewest(o) + s.Spare)
}

// makeBest makes an option the best.
func (s *search) makeBest(i int) {
	if s.best >= 0 {
		s.outcomes[s.best].kind = simulated
	}
	s.outcomes[i].kind, s.outcomes[i].words, s.best = chosen, "", i
}

// first returns how many replicas of an option are simulated first, and the most that may be asked
// of it: as many as would be cheaper than the best, or where there is nothing to beat yet, as few
// as possible.
func (s *search) first(o *candidate.Option) (n, most int) {
	fewest, most := s.Fewest(o), s.Most(o)
	if s.best < 0 {
		return fewest, most
	}
	for most >= fewest && !s.beats(o, most) {
		most = min(most-1, int(o.Affordable(s.cost()))-s.Spare)
	}
	return most, most
}

// load returns the load of the fleet, or nil if no option fits.
func (s *search) load() *asked.Load {
	for _, o := range s.options {
		if o.Unfit() == "" {
			return o.Load()
		}
	}
	return nil
}

// fleet describes the best fleet.
func (s *search) fleet() *detail.Fleet {
	best := &s.outcomes[s.best]
	return &detail.Fleet{Judge: s.Judge, Option: s.chosen(), Replicas: best.replicas,
		Running: best.running, Hourly: s.cost(), Millions: s.millions(), LeastFixed: s.leastFixed}
}

// millions returns how many million output tokens the load asks for in an hour; 0 if that depends
// on the fleet.
func (s *search) millions() float64 {
	flow := s.load().Flow
	if peak := s.Trials.File.Plan.Peak(); s.Rate != peak {
		flow *= s.Rate / peak // the goal was to raise it
	}
	if p := &s.Trials.File.Plan; p.Steady() && p.Peak() > 0 {
		flow *= p.Mean() / p.Peak()
	}
	return flow * 3600 / 1e6
}
