package horizon

import (
	"math"
	"slices"
)

// stays are what it costs to be served by one kind from a month to another.
type stays struct {
	kind  *Kind
	index int
	held  []int // rentals by month that were begun before
	left  []int // replicas of each term with a limit
	costs map[[2]int]float64
	// bounds[m] is a bound from below of the cost of the months before m, at the least price of
	// each replica.
	bounds []float64
}

func newStays(q *Question, kind int) *stays {
	s := &stays{kind: &q.Kinds[kind], index: kind, costs: map[[2]int]float64{}}
	s.held = make([]int, len(s.kind.Needs))
	for t := range s.kind.Terms {
		s.left = append(s.left, s.kind.Terms[t].Most)
	}
	for _, r := range q.Held {
		if r.Kind == kind && r.Term != Uncommitted {
			s.left[r.Term] -= r.Replicas
		}
		for m := r.From; r.Kind == kind && m < min(r.To, len(s.held)); m++ {
			s.held[m] += r.Replicas
		}
	}
	committed := math.Inf(1)
	for _, t := range s.kind.Terms {
		committed = min(committed, t.Monthly)
	}
	s.bounds = make([]float64, 1, len(s.held)+1)
	for m := range s.held {
		sum := s.bounds[m]
		for _, share := range s.uncovered(m) {
			sum += min(committed, share*s.kind.Monthly)
		}
		s.bounds = append(s.bounds, sum)
	}
	return s
}

// least returns a bound from below of what a stay costs.
func (s *stays) least(begin, end int) float64 {
	if end > s.kind.until() {
		return math.Inf(1)
	}
	return s.bounds[end] - s.bounds[begin]
}

// cost returns what a stay costs.
func (s *stays) cost(begin, end int) float64 {
	key := [2]int{begin, end}
	c, known := s.costs[key]
	if !known {
		c = s.stay(begin, end).cost
		s.costs[key] = c
	}
	return c
}

// stay is the cheapest way to rent the replicas of a kind from a month to another. Its commitments
// are a flow of as many units as replicas are ever needed. Each unit goes from the first month to
// the last, and in every month is committed, or costs the hours in which one replica more is
// needed. The units that are not committed are those of the replicas that are needed least, so the
// cost is convex in their number, and the cheapest flow is found by shortest paths (Ahuja,
// Magnanti and Orlin, "Network Flows", 1993, sections 9.7 and 14.5). It has whole numbers of units.
// Units of a term with a limit all go to the end, through one gate whose room is that limit.
type stay struct {
	*stays
	begin, end int
	arcs       []arc // the ones without a commitment of a month follow each other, by their cost
	cost       float64
}

// arc lets units go from a month to a later one, or back in the direction of an arc that they took.
type arc struct {
	from, to int // from the first month of the stay; gates follow its end
	term     int // Uncommitted for a month without a commitment
	room     int // for units
	used     int
	cost     float64 // of a unit
}

// gate is the term of arcs from a gate to the end of a stay.
const gate = -2

// uncovered returns the needs of a month beyond its held replicas. A further replica is needed in a
// share of the month, which the list has.
func (s *stays) uncovered(month int) []float64 {
	needs := s.kind.Needs[month]
	return needs[min(len(needs), s.held[month]):]
}

func (s *stays) stay(begin, end int) *stay {
	y := &stay{stays: s, begin: begin, end: end}
	units := 0
	for m := begin; m < end; m++ {
		units = max(units, len(s.uncovered(m)))
	}
	n := end - begin
	for m := range n {
		needs := s.uncovered(begin + m)
		y.add(m, m+1, Uncommitted, units-len(needs), 0)
		for i := len(needs); i > 0 && !math.IsInf(s.kind.Monthly, 1); {
			first := i - 1
			for first > 0 && needs[first-1] == needs[i-1] {
				first--
			}
			y.add(m, m+1, Uncommitted, i-first, needs[i-1]*s.kind.Monthly)
			i = first
		}
		for t := range s.kind.Terms {
			term := &s.kind.Terms[t]
			to := min(n, m+term.Months)
			if term.Most > 0 {
				to = n + 1 + t
			}
			y.add(m, to, t, units, float64(term.paid(begin+m, len(s.held)))*term.Monthly)
		}
	}
	for t := range s.kind.Terms {
		if s.kind.Terms[t].Most > 0 {
			y.add(n+1+t, n, gate, s.left[t], 0)
		}
	}
	y.cost = float64(n) * s.kind.Fixed
	for units > 0 {
		units -= y.send(units)
	}
	for i := range y.arcs {
		y.cost += float64(y.arcs[i].used) * y.arcs[i].cost
	}
	return y
}

func (y *stay) add(from, to, term, room int, cost float64) {
	if room > 0 {
		y.arcs = append(y.arcs, arc{from: from, to: to, term: term, room: room, cost: cost})
	}
}

// send lets up to most units take the cheapest way from the first month to the end, and returns how
// many took it.
func (y *stay) send(most int) int {
	n := y.end - y.begin
	places := n + 1 + len(y.kind.Terms)
	dist, by := slices.Repeat([]float64{math.Inf(1)}, places), make([]int, places)
	dist[0] = 0
	dearest := 0.0
	for i := range y.arcs {
		dearest = max(dearest, y.arcs[i].cost)
	}
	less := 1e-12 * dearest * float64(n) // differences below are those of rounding
	open := y.open()
	for again := true; again; {
		again = false
		for _, i := range open {
			a := &y.arcs[i]
			if d := dist[a.from] + a.cost; a.used < a.room && d < dist[a.to]-less {
				dist[a.to], by[a.to], again = d, i, true
			}
			if d := dist[a.to] - a.cost; a.used > 0 && d < dist[a.from]-less {
				dist[a.from], by[a.from], again = d, ^i, true
			}
		}
	}
	way := []int{}
	for at := n; at > 0; {
		way = append(way, by[at])
		if i := by[at]; i >= 0 {
			most, at = min(most, y.arcs[i].room-y.arcs[i].used), y.arcs[i].from
		} else {
			most, at = min(most, y.arcs[^i].used), y.arcs[^i].to
		}
	}
	for _, i := range way {
		if i >= 0 {
			y.arcs[i].used += most
		} else {
			y.arcs[^i].used -= most
		}
	}
	return most
}

// open lists the arcs that may be on a shortest way. Of the arcs of a month without a commitment,
// which fill up one after another, these are the first with room and the one before it.
func (y *stay) open() (list []int) {
	for i := range y.arcs {
		a := &y.arcs[i]
		plain := a.term == Uncommitted
		full := plain && a.used == a.room && i+1 < len(y.arcs) &&
			y.arcs[i+1].alike(a) && y.arcs[i+1].used > 0
		empty := plain && a.used == 0 && i > 0 && y.arcs[i-1].alike(a) &&
			y.arcs[i-1].used < y.arcs[i-1].room
		if !full && !empty {
			list = append(list, i)
		}
	}
	return list
}

// alike reports whether two arcs are of one month without a commitment.
func (a *arc) alike(b *arc) bool {
	return a.term == Uncommitted && b.term == Uncommitted && a.from == b.from
}

// rentals returns what a stay rents. Terms that follow each other are one rental, and so are the
// months in which as many replicas are rented without a commitment.
func (y *stay) rentals() (list []Rental) {
	n := y.end - y.begin
	committed := slices.Clone(y.held[y.begin:y.end])
	for t, term := range y.kind.Terms {
		begun := make([]int, n)
		for i := range y.arcs {
			if a := &y.arcs[i]; a.term == t {
				begun[a.from] += a.used
			}
		}
		for m := range n {
			for units := begun[m]; units > 0; units = begun[m] {
				r := Rental{Kind: y.index, Term: t, Replicas: units, From: y.begin + m, Share: 1}
				at := m
				for ; at < n && begun[at] >= units; at += term.Months {
					begun[at] -= units
					for k := at; k < min(n, at+term.Months); k++ {
						committed[k] += units
					}
				}
				if r.To = y.begin + at; term.Within {
					r.To = min(r.To, len(y.held))
				}
				r.Cost = float64(units*(r.To-r.From)) * term.Monthly
				list = append(list, r)
			}
		}
	}
	shares := func(m, i int) float64 { // of the replica i of a month, if it is not committed
		if needs := y.kind.Needs[y.begin+m]; i >= committed[m] && i < len(needs) {
			return needs[i]
		}
		return 0
	}
	most := 0
	for m := range n {
		most = max(most, len(y.kind.Needs[y.begin+m]))
	}
	for i := range most {
		for m := 0; m < n; m++ {
			r := Rental{Kind: y.index, Term: Uncommitted, Replicas: 1, From: y.begin + m}
			for ; m < n && shares(m, i) > 0; m++ {
				r.Share += shares(m, i)
			}
			if r.To = y.begin + m; r.To > r.From {
				r.Cost = r.Share * y.kind.Monthly
				r.Share /= float64(r.To - r.From)
				list = joined(list, r)
			}
		}
	}
	if y.kind.Fixed > 0 {
		if len(list) == 0 {
			list = append(list, Rental{Kind: y.index, Term: Uncommitted, From: y.begin, To: y.end})
		}
		list[0].Cost += float64(n) * y.kind.Fixed
	}
	return list
}

// joined adds a rental without a commitment to one of the same months, if there is one.
func joined(list []Rental, r Rental) []Rental {
	for i := range list {
		if o := &list[i]; o.Term == r.Term && o.From == r.From && o.To == r.To {
			o.Share = (o.Share*float64(o.Replicas) + r.Share) / float64(o.Replicas+1)
			o.Replicas, o.Cost = o.Replicas+1, o.Cost+r.Cost
			return list
		}
	}
	return append(list, r)
}
