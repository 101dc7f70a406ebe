package horizon

import (
	"math"
	"slices"
)

// Pausing is work that may stop and start again, so that it runs in the hours that cost least.
type Pausing struct {
	// Prices are what it costs to run in each hour, all above 0; hour 0 is the first.
	Prices []float64
	Within float64 // the hours in which the work must be done: at most one for each price
	Work   float64 // the hours that it runs, without its starts
	Start  float64 // the hours that each start takes, which are paid for as well
}

// Stretch is a time without a pause, in hours from the first.
type Stretch struct{ From, To float64 }

// exact is by how many hours, or as what share of a price, sums differ by rounding alone.
const exact = 1e-9

// Cheapest returns when to run and what that costs; no stretches where there is no time for it.
// Nothing costs less:
//
//   - With n starts the work runs for Work + n·Start hours. If two stretches had an end within an
//     hour, some of one could be moved to the other at no higher price, until an end is at the edge
//     of an hour or of Within. So all hours but one are used as a whole or not at all, and the last
//     one, which Within may cut, is an hour of its own length. All such choices are compared.
//   - Between two stretches there is an hour that is followed by a cheaper one. Otherwise the work
//     after the pause could be done in it for no more, without a start. So there are no more pauses
//     than falls of the price.
func (p *Pausing) Cheapest() (runs []Stretch, cost float64) {
	cost = math.Inf(1)
	falls, sorted := 0, slices.Sorted(slices.Values(p.Prices))
	for h := 1; h < len(p.Prices); h++ {
		if p.Prices[h] < p.Prices[h-1] {
			falls++
		}
	}
	for n := 1; n <= falls+1; n++ {
		time := p.Work + float64(float64(n)*p.Start)
		least := 0.0 // with pauses that need no start
		for h, price := range sorted {
			least += price * max(0, min(1, time-float64(h)))
		}
		if time > p.Within+exact || least >= cost*(1-exact) {
			break
		}
		cut := p.Within - math.Floor(p.Within)
		for _, whole := range []bool{false, true} { // use of the hour that Within cuts
			rest := time
			if whole {
				rest -= cut
			}
			if whole && cut < exact || rest < -exact {
				continue
			}
			c := &choice{Pausing: p, hours: int(p.Within), starts: n, cut: cut, whole: whole,
				known: slices.Repeat([]float64{math.NaN()},
					4*(len(p.Prices)+1)*(len(p.Prices)+1)*(n+1))}
			full := math.Floor(rest + exact)
			c.part = max(0, rest-full)
			first := state{full: int(full), starts: n, parted: c.part < exact}
			if sum := c.least(first); sum < cost*(1-exact) {
				runs, cost = c.stretches(first), sum
			}
		}
	}
	return runs, cost
}

// choice is the choice of hours with a number of starts.
type choice struct {
	*Pausing
	hours, starts int       // whole hours within the time
	cut           float64   // the length of the hour after them
	whole         bool      // whether that hour is used
	part          float64   // how much is used of the hour that is used in part
	known         []float64 // the least cost from each state on; not a number where not known
}

// state is what is left to choose from an hour on.
type state struct {
	hour, full, starts int
	running            bool // at the end of the hour before
	parted             bool // the hour that is used in part was chosen
}

// use is what may be done in an hour: run in a part of it.
type use struct {
	Stretch
	cost float64
	next state
}

// uses returns what may be done in an hour, what ends early first.
func (c *choice) uses(s state) (list []use) {
	length, begin := 1.0, float64(s.hour)
	if s.hour == c.hours {
		length = c.cut
	}
	add := func(from, to float64, full int, running, parted bool) {
		next := state{s.hour + 1, s.full - full, s.starts, running, parted}
		if to > from && !s.running {
			next.starts--
		}
		if next.full >= 0 && next.starts >= 0 {
			list = append(list, use{Stretch{begin + from, begin + to},
				(to - from) * c.Prices[s.hour], next})
		}
	}
	switch {
	case s.hour < c.hours:
		add(0, 1, 1, true, s.parted)
	case c.whole:
		add(0, length, 0, true, s.parted)
		return list
	}
	if !s.parted && c.part <= length+exact {
		add(0, c.part, 0, false, true)
		if !s.running {
			add(length-c.part, length, 0, true, true)
		}
	}
	add(0, 0, 0, false, s.parted)
	return list
}

// least is the least cost from a state on; infinite where the work does not fit.
func (c *choice) least(s state) float64 {
	if s.hour > c.hours || s.hour == c.hours && c.cut < exact {
		if s.full == 0 && s.starts == 0 && s.parted {
			return 0
		}
		return math.Inf(1)
	}
	if s.full > c.hours-s.hour {
		return math.Inf(1)
	}
	at := 4 * ((s.hour*(len(c.Prices)+1)+s.full)*(c.starts+1) + s.starts)
	if s.running {
		at += 2
	}
	if s.parted {
		at++
	}
	if math.IsNaN(c.known[at]) {
		least := math.Inf(1)
		for _, u := range c.uses(s) {
			least = min(least, u.cost+c.least(u.next))
		}
		c.known[at] = least
	}
	return c.known[at]
}

// stretches returns the choice of the least cost, and of several the one that runs earliest.
func (c *choice) stretches(s state) (runs []Stretch) {
	for least := c.least(s); s.hour < c.hours || s.hour == c.hours && c.cut >= exact; {
		for _, u := range c.uses(s) {
			rest := c.least(u.next)
			if u.cost+rest > least*(1+exact) {
				continue
			}
			if last := len(runs) - 1; u.To > u.From && s.running {
				runs[last].To = u.To
			} else if u.To > u.From {
				runs = append(runs, u.Stretch)
			}
			s, least = u.next, rest
			break
		}
	}
	return runs
}
