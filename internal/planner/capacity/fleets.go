package capacity

import (
	"math"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// mixed looks for a cheaper fleet of two kinds of replicas: with requests shared in proportion to
// what they sustain, each kind sustains its part, and the sum sustains the sum. The spares are of
// the kind that sustains more.
func (s *search) mixed(shapes []Shape) *Mixed {
	var best *Mixed
	cost := s.cost() * (1 - 1e-9)
	for i := range shapes {
		for j := range shapes {
			a, b := s.options[shapes[i].option], s.options[shapes[j].option]
			rateA, rateB := shapes[i].Rate, shapes[j].Rate
			if i == j || rateA < rateB || rateB == 0 {
				continue
			}
			for n := 1; float64(n+s.spare)*a.price < cost; n++ {
				rest := s.rate - float64(n)*rateA
				if rest <= 0 {
					break
				}
				m := int(math.Ceil(rest / rateB))
				hourly := float64(n+s.spare)*a.price + float64(m)*b.price
				if hourly < cost && a.available(n+s.spare) && b.available(m) {
					cost = hourly
					best = &Mixed{Labels: [2]string{shapes[i].Label, shapes[j].Label},
						Replicas: [2]int{n + s.spare, m}, Hourly: hourly,
						Share: float64(n) * rateA / (float64(n)*rateA + float64(m)*rateB)}
				}
			}
		}
	}
	return best
}

// slots is the number of quarters of an hour in a day.
const slots = 96

// autoscaled counts the replicas that a wave needs over a day, each slot with those of the next, so
// that they have started by then. It is nil for a load that does not change.
func (s *search) autoscaled(rate *scenarios.Rate, shapes []Shape) *Autoscaled {
	if rate.Pattern != "wave" {
		return nil
	}
	one := 0.0
	for i := range shapes {
		if shapes[i].option == s.best {
			one = shapes[i].Rate
		}
	}
	one = max(one, s.rate/float64(s.fates[s.best].replicas))
	period := sim.Time(rate.Period).Seconds()
	if period == 0 {
		period = 24 * 3600
	}
	need := func(slot int) int {
		sincePeak := float64(slot)*24*3600/slots - sim.Time(rate.Peak).Seconds()
		phase := 2 * math.Pi * sincePeak / period
		load := float64(rate.Average) * (1 + rate.Swing*math.Cos(phase))
		return max(1, int(math.Ceil(load/one))) + s.spare
	}
	a := &Autoscaled{Fixed: float64(24 * s.accelerators()), Least: math.MaxInt}
	for slot := range slots {
		n := max(need(slot), need(slot+1))
		a.Least, a.Most = min(a.Least, n), max(a.Most, n)
		a.Scaled += float64(n*s.chosen().gpus) * 24 / slots
	}
	return a
}
