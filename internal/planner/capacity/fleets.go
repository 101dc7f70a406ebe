package capacity

import (
	"context"
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
					best = &Mixed{options: [2]*option{a, b},
						Labels:   [2]string{shapes[i].Label, shapes[j].Label},
						Replicas: [2]int{n + s.spare, m}, Hourly: hourly,
						Share: float64(n) * rateA / (float64(n)*rateA + float64(m)*rateB)}
				}
			}
		}
	}
	return best
}

// mostMore bounds the replicas that a mixed fleet gets beyond the reckoned ones.
const mostMore = 4

// confirmed simulates a mixed fleet, and gives it more of the second kind until it keeps the SLO;
// nil where it then costs as much as the answer. One with a group of replicas stays as reckoned:
// a scenario has one pair of pools.
func (s *search) confirmed(ctx context.Context, m *Mixed) (*Mixed, error) {
	if m == nil || m.options[0].decode != nil || m.options[1].decode != nil {
		return m, nil
	}
	plan, trials := &s.trials.file.Plan, *s.trials
	trials.recorded = false // parts of the work do not know the rates of all kinds
	for range mostMore {
		if m.Hourly >= s.cost()*(1-1e-9) || !m.options[1].available(m.Replicas[1]) {
			return nil, nil
		}
		t, err := trials.trial(ctx, m.scenario(&plan.Menu, s.spare), s.rate,
			plan.together(s.rate, m.Replicas[0]+m.Replicas[1]))
		if err != nil {
			return nil, err
		}
		if m.Kept = t.Kept.Mean; t.kept() {
			m.Simulated = true
			return m, nil
		}
		m.Replicas[1]++
		m.Hourly += m.options[1].price
	}
	return nil, nil
}

// scenario returns a mixed fleet without its spares, with steps as slow as each kind's must be
// expected to be.
func (m *Mixed) scenario(menu *Menu, spare int) scenarios.Scenario {
	all := m.options[0].scenario(menu, 1, m.options[0].slow)
	for k, o := range m.options {
		one := o.scenario(menu, 1, o.slow)
		all.Fleet.Pools = append(all.Fleet.Pools, scenarios.Pool{
			Name: []string{"first", "second"}[k], Replicas: m.Replicas[k],
			Hardware: one.Hardware, Parallelism: one.Parallelism, Engine: one.Engine,
			Batching: one.Batching, Memory: one.Memory, Speculation: one.Speculation})
	}
	all.Fleet.Pools[0].Replicas -= spare
	return all
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
	need := func(slot int) int {
		return max(1, int(math.Ceil(loadAt(rate, slot)/one))) + s.spare
	}
	a := &Autoscaled{Fixed: float64(24 * s.accelerators()), Least: math.MaxInt}
	for slot := range slots {
		n := max(need(slot), need(slot+1))
		a.Least, a.Most = min(a.Least, n), max(a.Most, n)
		a.Scaled += float64(n*s.chosen().gpus) * 24 / slots
	}
	return a
}

// loadAt is the rate of a wave at the beginning of a slot.
func loadAt(rate *scenarios.Rate, slot int) float64 {
	period := sim.Time(rate.Period).Seconds()
	if period == 0 {
		period = 24 * 3600
	}
	phase := 2 * math.Pi * (float64(slot)*24*3600/slots - sim.Time(rate.Peak).Seconds()) / period
	return float64(rate.Average) * (1 + float64(rate.Swing*math.Cos(phase)))
}

// Rented is a day of a wave with two kinds of replicas: a base that always runs, with the spares,
// and a peak that is rented by the hour, on demand.
type Rented struct {
	Base         string `json:"base"`
	BaseReplicas int    `json:"base_replicas"`
	Peak         string `json:"peak"`
	PeakReplicas int    `json:"most_peak_replicas"`
	// Daily is its price for a day in US dollars, Fixed that of the chosen fleet.
	Daily float64 `json:"dollars_per_day"`
	Fixed float64 `json:"fixed_dollars_per_day"`
}

// rented finds the cheapest base and peak for a wave: of every two kinds of replicas of which the
// second can be given back, and every size of the base. As for autoscaling, each slot has the
// replicas that the next one needs. It is nil for a load that does not change.
func (s *search) rented(rate *scenarios.Rate, shapes []Shape) *Rented {
	if rate.Pattern != "wave" {
		return nil
	}
	var best *Rented
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
func (s *search) rentedOf(rate *scenarios.Rate, base, peak *Shape) *Rented {
	a, b := s.options[base.option], s.options[peak.option]
	if base.Rate == 0 || peak.Rate == 0 || b.prefill.offer.term() == reserved {
		return nil
	}
	highest := float64(rate.Average) * (1 + rate.Swing)
	var best *Rented
	for n := range int(math.Ceil(highest/base.Rate)) + 1 {
		r := &Rented{Base: base.Label, BaseReplicas: n + s.spare, Peak: peak.Label,
			Daily: 24 * float64(n+s.spare) * a.price}
		for slot := range slots {
			load := max(loadAt(rate, slot), loadAt(rate, slot+1)) - float64(n)*base.Rate
			m := max(0, int(math.Ceil(load/peak.Rate-1e-9)))
			r.PeakReplicas = max(r.PeakReplicas, m)
			r.Daily += float64(m) * b.price * 24 / slots
		}
		if a.available(n+s.spare) && b.available(r.PeakReplicas) &&
			(best == nil || r.Daily < best.Daily) {
			best = r
		}
	}
	return best
}
