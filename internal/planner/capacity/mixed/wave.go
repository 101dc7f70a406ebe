package mixed

import (
	"cmp"
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// slots is the number of quarters of an hour in a day.
const slots = 96

// Autoscaled counts the replicas that a wave needs over a day, each slot with those of the next, so
// that they have started by then. It is nil for a load that does not change.
func (s *Search) Autoscaled(rate *scenarios.Rate, shapes []answer.Shape) *answer.Autoscaled {
	if rate.Pattern != "wave" {
		return nil
	}
	one := s.Rate / float64(s.Replicas)
	for i := range shapes {
		if shapes[i].Option == s.Option.Index {
			one = max(one, s.served(&shapes[i]))
		}
	}
	need := func(slot int) int {
		return max(1, int(math.Ceil(loadAt(rate, slot)/one))) + s.Spare
	}
	a := &answer.Autoscaled{Fixed: float64(24 * s.Accelerators()), Least: math.MaxInt}
	for slot := range slots {
		n := max(need(slot), need(slot+1))
		a.Least, a.Most = min(a.Least, n), max(a.Most, n)
		a.Scaled += float64(n*s.Option.GPUs) * 24 / slots
	}
	return a
}

// served returns the rate that a replica of a shape serves in a fleet: no more than what it
// sustains alone, and no more than its share of the load where a fleet was found to need more
// replicas.
func (s *Search) served(sh *answer.Shape) float64 {
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

// Rented finds the cheapest base and peak for a wave: of every two kinds of replicas of which the
// second can be given back, and every size of the base. As for autoscaling, each slot has the
// replicas that the next one needs. It is nil for a load that does not change.
func (s *Search) Rented(rate *scenarios.Rate, shapes []answer.Shape) *answer.Rented {
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
		best.Fixed = 24 * s.Hourly
	}
	return best
}

// rentedOf finds the cheapest base of one kind with a peak of another; nil where there is none.
func (s *Search) rentedOf(rate *scenarios.Rate, base, peak *answer.Shape) *answer.Rented {
	a, b := s.Options[base.Option], s.Options[peak.Option]
	always, hourly := s.served(base), s.served(peak)
	if always == 0 || hourly == 0 || !b.Prefill.Offer.ByHour() || !s.joined(a, b) {
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
